/// When dumps are due while the program runs.
#pragma once

#include <algorithm>
#include <cstdint>

namespace alloctap::run {

/// By the clock, by the growth of what is live since the last dump, or both. Not thread-safe.
class DumpSchedule {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;
  /// How often growth is looked at, in nanoseconds.
  static constexpr std::int64_t kLook = 10'000'000;

  /// A dump each `interval_ns` nanoseconds, and one each time `threshold` more bytes are live; 0
  /// stands for never. `now` is the time of a monotonic clock in nanoseconds, here and below.
  DumpSchedule(std::int64_t interval_ns, std::uint64_t threshold, std::int64_t now) noexcept
      : interval_(interval_ns),
        threshold_(threshold),
        next_(interval_ns == 0 ? kNever : now + interval_ns) {}

  [[nodiscard]] bool due(std::int64_t now, std::uint64_t live_bytes) const noexcept {
    return now >= next_ ||
           (threshold_ > 0 && live_bytes >= level_ && live_bytes - level_ >= threshold_);
  }

  /// There was a dump, for this reason or another one. Dumps that came too late are left out.
  void note_dump(std::int64_t now, std::uint64_t live_bytes) noexcept {
    level_ = live_bytes;
    if (now < next_ || interval_ == 0) return;
    next_ += interval_;
    if (next_ <= now) next_ = now + interval_;
  }

  /// When to look whether a dump is due; `kNever` if none ever is.
  [[nodiscard]] std::int64_t next_look(std::int64_t now) const noexcept {
    return threshold_ > 0 ? std::min(next_, now + kLook) : next_;
  }

 private:
  std::int64_t interval_;
  std::uint64_t threshold_;
  std::int64_t next_;
  /// What was live at the last dump.
  std::uint64_t level_ = 0;
};

}  // namespace alloctap::run
