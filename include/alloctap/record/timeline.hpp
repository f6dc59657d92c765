/// The timeline of a session: live bytes over time, and the program's markers.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

#include "alloctap/record/marker_ring.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/timeline_point.hpp"
#include "alloctap/record/timeline_ring.hpp"
#include "alloctap/runtime/function_ref.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"

namespace alloctap {

/// The points and the markers of a session. Control plane; arena memory. Constant-initialized,
/// never destroyed.
class Timeline {
 public:
  constexpr Timeline() noexcept = default;

  /// Adds a point for the current heap, see `Tracker::add_timeline_point`. Does nothing while
  /// another thread starts, stops or dumps.
  void add_point(const RecordedData& data) noexcept;
  /// Like `add_point`; the caller holds the control lock.
  void add_point_locked(const RecordedData& data) noexcept;

  /// Adds a marker. Thread-safe.
  void mark(std::string_view name) noexcept;

  /// Returns the points by time. The caller holds the control lock.
  [[nodiscard]] const ArenaArray<TimelinePoint>& points() noexcept {
    return points_.get().points();
  }

  /// Visits the stored markers by time. Returns the number of older, overwritten ones.
  std::uint64_t for_each_marker(
      FunctionRef<void(std::int64_t time_ns, std::string_view name)> visit) noexcept;

 private:
  struct Counts;

  static bool read_running(const RecordedData& data, TimelinePoint& point) noexcept;
  static void read_stopped(const RecordedData& data, TimelinePoint& point) noexcept;
  static void read_samples(const RecordedData& data, TimelinePoint& point) noexcept;
  static Counts read_all(const RecordedData& data) noexcept;

  NoDestroyLazy<TimelineRing> points_;
  FutexLock markers_lock_;
  NoDestroyLazy<MarkerRing> markers_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/timeline.hpp"
#endif
