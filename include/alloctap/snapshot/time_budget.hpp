/// How often something that takes long may be done.
#pragma once

#include <cstdint>

namespace alloctap {

/// Grants a share of the time that has passed since it was first asked, and a little at once. Times
/// in nanoseconds, of any clock that never goes back. Not thread-safe.
class TimeBudget {
 public:
  static constexpr std::int64_t kShareOfTime = 32;
  static constexpr std::int64_t kAtOnce = 10'000'000;

  /// Whether what was spent leaves something.
  [[nodiscard]] bool has_left(std::int64_t now) noexcept {
    if (!asked_) begin_ = now;
    asked_ = true;
    return spent_ < kAtOnce + (now - begin_) / kShareOfTime;
  }

  void spend(std::int64_t time) noexcept { spent_ += time; }

 private:
  bool asked_ = false;
  std::int64_t begin_ = 0;
  std::int64_t spent_ = 0;
};

}  // namespace alloctap
