/// Limits the share of time that an expensive operation may take.
#pragma once

#include <algorithm>
#include <cstdint>

namespace alloctap {

/// Grants 1/`kShareOfTime` of the time since the first query, plus `kAtOnce`. Nanoseconds of any
/// monotonic clock. Not thread-safe.
class TimeBudget {
 public:
  static constexpr std::int64_t kShareOfTime = 128;
  static constexpr std::int64_t kAtOnce = 4'000'000;

  /// Whether the budget is not used up.
  [[nodiscard]] bool has_left(std::int64_t now) noexcept {
    if (!asked_) begin_ = now;
    asked_ = true;
    return spent_ < kAtOnce + (now - begin_) / kShareOfTime;
  }

  void spend(std::int64_t time) noexcept { spent_ += time; }

  /// Returns the time to charge for an operation that blocks other threads. That is its CPU time:
  /// while it is preempted, its processor runs another thread. A wait that timed out is charged in
  /// full. `min`, because some systems round CPU time up to steps longer than the operation.
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
