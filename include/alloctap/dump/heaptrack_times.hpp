/// Timestamps and resident memory in heaptrack's text format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Writer of elapsed time (`c`, milliseconds) and resident memory (`R`, pages) for each point of
/// the timeline, in order. Written times never decrease.
class HeaptrackTimes {
 public:
  /// Time starts at the first point of the timeline, or at `first_ns` if the timeline is empty.
  HeaptrackTimes(const Snapshot& snapshot, HeaptrackLines lines, std::int64_t first_ns) noexcept
      : snapshot_(snapshot),
        lines_(lines),
        start_ns_(snapshot.timeline.empty() ? first_ns : snapshot.timeline[0].time_ns) {}

  /// Writes the points up to `time_ns` that are not written yet.
  void write_points(std::int64_t time_ns = std::numeric_limits<std::int64_t>::max()) {
    const auto& timeline = snapshot_.timeline;
    for (; next_ < timeline.size() && timeline[next_].time_ns <= time_ns; ++next_) {
      write_time(timeline[next_].time_ns);
      lines_.line('R', timeline[next_].resident_bytes / os::page_size());
    }
  }

  void write_time(std::int64_t time_ns) {
    lines_.line('c', latest_ = std::max(latest_, milliseconds(time_ns)));
    written_ = true;
  }

  /// Writes the points before an event at `time_ns`, then `time_ns` if later than `latest_`.
  void advance(std::int64_t time_ns) {
    if (written_ && milliseconds(time_ns) <= latest_) return;
    write_points(time_ns);
    if (!written_ || milliseconds(time_ns) > latest_) write_time(time_ns);
  }

 private:
  [[nodiscard]] std::uint64_t milliseconds(std::int64_t time_ns) const noexcept {
    constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
    const std::int64_t age = std::max<std::int64_t>(0, time_ns - start_ns_);
    return static_cast<std::uint64_t>(age / kNanosecondsPerMillisecond);
  }

  const Snapshot& snapshot_;
  HeaptrackLines lines_;
  std::int64_t start_ns_;
  /// The index of the next point to write.
  std::size_t next_ = 0;
  /// The latest time written, in milliseconds.
  std::uint64_t latest_ = 0;
  bool written_ = false;
};

}  // namespace alloctap
