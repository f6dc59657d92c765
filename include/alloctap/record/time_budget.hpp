/// How often something that takes long may be done.
#pragma once

#include <algorithm>
#include <cstdint>

namespace alloctap {

/// Grants a share of the time that has passed since it was first asked, and a little at once. Times
/// in nanoseconds, of any clock that never goes back. Not thread-safe.
class TimeBudget {
 public:
  static constexpr std::int64_t kShareOfTime = 128;
  static constexpr std::int64_t kAtOnce = 4'000'000;

  /// Whether what was spent leaves something.
  [[nodiscard]] bool has_left(std::int64_t now) noexcept {
    if (!asked_) begin_ = now;
    asked_ = true;
    return spent_ < kAtOnce + (now - begin_) / kShareOfTime;
  }

  void spend(std::int64_t time) noexcept { spent_ += time; }

  /// What counts of something that kept others waiting: the processor's time that it took, because
  /// who loses its processor on the way slows nobody down who has one, but all of the time where it
  /// waited in vain. Some systems tell a thread's time in steps that are longer than what was done.
  [[nodiscard]] static std::int64_t cost(std::int64_t cpu, std::int64_t elapsed,
                                         bool waited_in_vain) noexcept {
    return waited_in_vain ? elapsed : std::min(cpu, elapsed);
  }

 private:
  bool asked_ = false;
  std::int64_t begin_ = 0;
  std::int64_t spent_ = 0;
};

}  // namespace alloctap
