/// What makes a report due while the program runs, and when its timeline gets a point.
#pragma once

#include <algorithm>
#include <alloctap/os/clock.hpp>
#include <alloctap/record/timeline.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <cstdint>

#include "dump_schedule.hpp"
#include "final_report.hpp"
#include "tracker_calls.hpp"

namespace alloctap::run {

/// For the thread that writes reports. Times are of `os::monotonic_ns`.
class ReportTriggers {
 public:
  explicit ReportTriggers(std::int64_t now) noexcept
      : start_(now),
        next_point_(now + timeline_interval(0)),
        schedule_(report_settings().interval_ns, report_settings().threshold_bytes, now) {}

  /// Does what is due, a report in any case if `asked`; returns when to call again.
  std::int64_t serve(std::int64_t now, bool asked) noexcept {
    if (now >= next_point_) {
      add_timeline_point();
      next_point_ = now + timeline_interval(now - start_);
    }
    return std::min(next_point_, serve_reports(now, asked));
  }

 private:
  /// How long it is until the next point of the timeline, in nanoseconds: as its points lie the
  /// wider apart the older they are, a program that runs long is woken less often.
  static std::int64_t timeline_interval(std::int64_t age) noexcept {
    constexpr std::int64_t kShortest = 40'000'000;
    constexpr std::int64_t kLongest = 1'000'000'000;
    return std::clamp(age / std::int64_t{TimelineRing::kCapacity}, kShortest, kLongest);
  }

  std::int64_t serve_reports(std::int64_t now, bool asked) noexcept {
    if (!asked && !schedule_.due(now, watched_bytes())) return schedule_.next_look(now);
    const ReentrancyGuard guard;
    const std::uint64_t live = watched_bytes();
    write_report();
    schedule_.note_dump(now, live);
    return schedule_.next_look(os::monotonic_ns());
  }

  static std::uint64_t watched_bytes() noexcept {
    return report_settings().threshold_bytes > 0 ? live_bytes() : 0;
  }

  std::int64_t start_;
  std::int64_t next_point_;
  DumpSchedule schedule_;
};

}  // namespace alloctap::run
