/// The part of a recorder that notes how its numbers change over time.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "alloctap/guard/control_lock.hpp"
#include "alloctap/guard/futex_lock.hpp"
#include "alloctap/guard/late_construction.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/guard/thread_state.hpp"
#include "alloctap/meta/thread_totals.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/sample/stack_estimates.hpp"
#include "alloctap/snapshot/marker_ring.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/timeline_ring.hpp"

namespace alloctap {

/// Points of a timeline and markers, for a `Recorder` that derives from it. Control plane.
/// Constant-initialized, never destroyed.
template <class Recorder>
class TimelineRecorder {
 public:
  /// Notes what is live now. Does nothing while another thread starts, stops or dumps.
  static void add_timeline_point() noexcept {
    const ReentrancyGuard guard;
    if (!control_lock.try_lock()) return;
    const std::lock_guard hold(control_lock, std::adopt_lock);
    add_timeline_point_locked();
  }

  /// For who holds the control lock.
  static void add_timeline_point_locked() noexcept {
    TimelinePoint point{.time_ns = os::wall_clock_ns(), .resident_bytes = os::resident_bytes()};
    if (ThreadStates::close_gate()) {
      Recorder::queue().flush();
      count_now(point);
      timeline_.get().add(point);
    }
    ThreadStates::open_gate();
  }

  static void mark(std::string_view name) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(markers_lock_);
    markers_.get().add(os::wall_clock_ns(), name);
  }

  /// For who holds the control lock; false where the system has no memory for it.
  [[nodiscard]] static bool copy_timeline(Snapshot& snapshot) noexcept {
    for (const TimelinePoint& point : timeline_.get().points()) {
      if (!snapshot.timeline.push_back(point)) return false;
    }
    const std::lock_guard hold(markers_lock_);
    snapshot.forgotten_markers = markers_.get().forgotten();
    bool kept = true;
    markers_.get().for_each([&](std::int64_t time_ns, std::string_view name) {
      const std::string_view copy = snapshot.names.keep(name);
      kept = kept && copy.size() == name.size() && snapshot.markers.push_back({time_ns, copy});
    });
    return kept;
  }

 private:
  static void count_now(TimelinePoint& point) noexcept {
    point.live_bytes = Recorder::books().live_bytes();
    if (Recorder::sampling().estimates != nullptr) return count_sampled(point);
    const EventCounters counters = Recorder::counters();
    point.allocations = counters.allocations;
    point.allocated_bytes = counters.allocated_bytes;
    point.live_allocations = counters.allocations - counters.deallocations;
  }

  static void count_sampled(TimelinePoint& point) noexcept {
    Recorder::for_each_totals([&](const ThreadTotals& totals) {
      const AllocationTotals calls = totals.calls.totals();
      point.allocations += calls.allocations;
      point.allocated_bytes += calls.allocated_bytes;
    });
    double live = 0;
    const SamplingView view = Recorder::sampling();
    Recorder::for_each_live(
        [&](const void*, const BlockRecord& record) { live += view.weight(record.size); });
    point.live_allocations = static_cast<std::uint64_t>(live + 0.5);
  }

  static inline constinit LateConstruction<TimelineRing> timeline_;
  static inline constinit FutexLock markers_lock_;
  static inline constinit LateConstruction<MarkerRing> markers_;
};

}  // namespace alloctap
