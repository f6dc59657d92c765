/// Times in heaptrack's text format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Writes how long the program had run (`c`, milliseconds) and its resident memory (`R`, pages),
/// from the points of the timeline, in order. Never goes back.
class HeaptrackTimes {
 public:
  /// Time starts at the first point, or at `first_ns` where there is none.
  HeaptrackTimes(const Snapshot& snapshot, HeaptrackLines lines, std::int64_t first_ns) noexcept
      : snapshot_(snapshot),
        lines_(lines),
        start_ns_(snapshot.timeline.empty() ? first_ns : snapshot.timeline[0].time_ns) {}

  /// The points up to `time_ns` that were not written yet.
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

  /// For what happened at `time_ns`: the points before it, and its time if that is a later one.
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
  /// The number of the next point.
  std::size_t next_ = 0;
  /// In milliseconds.
  std::uint64_t latest_ = 0;
  bool written_ = false;
};

}  // namespace alloctap
