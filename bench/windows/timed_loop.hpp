/// Repeats something, in batches that are timed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace alloctap::bench {

/// `for (auto _ : loop) work();`, once for each object. Batches grow until one takes its part of
/// the time that is given; the first ones warm up, and do not count. In elapsed time, because
/// Windows counts CPU time in ticks of 16 ms: so what is told is the median batch, which another
/// program that takes the processor now and then leaves as it is.
class TimedLoop {
 public:
  explicit TimedLoop(double seconds) : seconds_per_batch_(seconds / kBatches) {}

  struct [[maybe_unused]] Turn {};
  struct End {};

  class Iterator {
   public:
    explicit Iterator(TimedLoop& loop) : loop_(loop), left_(loop.start_batch()) {}
    Turn operator*() const { return {}; }
    void operator++() { --left_; }
    bool operator!=(End) {
      if (left_ == 0) [[unlikely]] {
        left_ = loop_.next_batch();
      }
      return left_ != 0;
    }

   private:
    TimedLoop& loop_;
    std::uint64_t left_;
  };

  Iterator begin() { return Iterator(*this); }
  End end() { return {}; }

  /// How often the loop was gone through, uncounted batches included.
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

  /// Of one turn.
  [[nodiscard]] double median_nanoseconds() {
    const auto middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    return *middle * 1e9 / static_cast<double>(batch_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kBatches = 15;

  std::uint64_t start_batch() {
    start_ = Clock::now();
    return batch_;
  }

  /// The turns of another batch; 0 where it is enough.
  std::uint64_t next_batch() {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    turns_ += batch_;
    if (counts_) {
      seconds_.push_back(seconds);
    } else if (seconds < seconds_per_batch_) {
      batch_ *= 2;
    } else {
      counts_ = true;
    }
    return seconds_.size() == kBatches ? 0 : start_batch();
  }

  double seconds_per_batch_;
  /// A multiple of the paths that `Varying` goes through.
  std::uint64_t batch_ = 64;
  std::uint64_t turns_ = 0;
  bool counts_ = false;
  Clock::time_point start_;
  std::vector<double> seconds_;
};

}  // namespace alloctap::bench
