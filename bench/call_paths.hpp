/// Calls whose stack changes from one to the next, as a program's does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace alloctap::bench {

/// How many calls deep, and which of two functions each of them is (a bit each).
struct CallPath {
  std::uint32_t levels = 0;
  std::uint32_t turns = 0;
};

/// Runs `work()` below the calls of `path`. The array gives the two functions frames of different
/// sizes; reading it after the call keeps that from becoming a jump.
template <int kTurn, class Work>
[[gnu::noinline]] void follow(CallPath path, Work& work) {
  volatile char room[16 + 64 * kTurn]{};
  const CallPath rest{path.levels - 1, path.turns >> 1};
  if (path.levels == 0) {
    work();
  } else if ((path.turns & 1) != 0) {
    follow<1>(rest, work);
  } else {
    follow<0>(rest, work);
  }
  static_cast<void>(room[0]);
}

/// A round of different paths. One at `depth() + path.levels` frames is, on average, as deep as was
/// wanted.
class CallPaths {
 public:
  static constexpr std::uint32_t kCount = 64;

  /// Paths of up to 16 calls, and of less around small depths, so that the mean is `mean_depth`,
  /// the call of `follow` included.
  explicit CallPaths(std::uint32_t mean_depth)
      : base_depth_(mean_depth - 1 - std::min(mean_depth / 2, kMaxMeanLevels)) {
    std::mt19937 random(1);
    const std::uint32_t most = 2 * (mean_depth - 1 - base_depth_);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      paths_[i] = {i * (most + 1) / kCount, static_cast<std::uint32_t>(random())};
    }
    std::shuffle(paths_.begin(), paths_.end(), random);
  }

  /// The depth at which `follow` is to be called.
  [[nodiscard]] std::uint32_t base_depth() const { return base_depth_; }

  [[nodiscard]] CallPath next() { return paths_[next_++ % kCount]; }

 private:
  static constexpr std::uint32_t kMaxMeanLevels = 8;

  std::uint32_t base_depth_;
  std::array<CallPath, kCount> paths_{};
  std::size_t next_ = 0;
};

}  // namespace alloctap::bench
