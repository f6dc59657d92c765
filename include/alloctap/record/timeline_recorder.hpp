/// The part of a recorder that notes how its numbers change over time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "alloctap/os/clock.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
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
  /// Notes what is live now, as `Tracker::add_timeline_point` says. Does nothing while another
  /// thread starts, stops or dumps.
  static void add_timeline_point() noexcept {
    const ReentrancyGuard guard;
    if (!control_lock.try_lock()) return;
    const std::lock_guard hold(control_lock, std::adopt_lock);
    add_timeline_point_locked();
  }

  /// For who holds the control lock.
  static void add_timeline_point_locked() noexcept {
    TimelinePoint point{.time_ns = os::wall_clock_ns(), .resident_bytes = os::resident_bytes()};
    if (count_on_the_way(point)) return timeline_.get().add(point);
    if (ThreadStates::close_gate()) {
      Recorder::queue().flush();
      count_stopped(point);
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
  /// How many calls of each thread may fall between the numbers of a point.
  static constexpr std::uint64_t kMaxMissed = 8;
  static constexpr int kMaxTries = 8;

  /// Without stopping the threads, which takes longer than all the rest. False, and nothing
  /// counted, where that cannot be: the queue has events that nobody has counted yet, or threads go
  /// on too fast. Who reads may lose the processor in between: then it tries again.
  [[nodiscard]] static bool count_on_the_way(TimelinePoint& point) noexcept {
    if constexpr (!requires { requires Recorder::Queue::kDeliversAtOnce; }) return false;
    if (samples()) {
      count_sampled(point);
      return true;
    }
    for (int tries = 0; tries < kMaxTries; ++tries) {
      const Counted sum = read_all();
      if (read_all().calls() - sum.calls() > kMaxMissed * sum.threads) continue;
      tell(sum, point);
      return true;
    }
    return false;
  }

  static void count_stopped(TimelinePoint& point) noexcept {
    if (samples()) return count_sampled(point);
    tell(read_all(), point);
  }

  static bool samples() noexcept { return Recorder::sampling().estimates != nullptr; }

  /// Sums over threads.
  struct Counted {
    [[nodiscard]] std::uint64_t calls() const noexcept { return allocations + deallocations; }

    std::uint64_t threads = 0;
    std::uint64_t deallocations = 0;
    std::uint64_t allocations = 0;
    std::uint64_t allocated_bytes = 0;
    std::int64_t live_bytes = 0;
  };

  static Counted read_all() noexcept {
    Counted sum;
    Recorder::books().for_each_joined([&](const ThreadStats& totals) {
      ++sum.threads;
      sum.deallocations += totals.recorded.deallocations();
      sum.allocations += totals.recorded.allocations();
      sum.allocated_bytes += totals.recorded.allocated_bytes();
      sum.live_bytes += totals.live.total.load(std::memory_order_acquire);
    });
    return sum;
  }

  /// A block that one thread made and another freed in between may be counted out and not in.
  static void tell(const Counted& sum, TimelinePoint& point) noexcept {
    point.allocations = sum.allocations;
    point.allocated_bytes = sum.allocated_bytes;
    point.live_allocations = sum.allocations - std::min(sum.deallocations, sum.allocations);
    point.live_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(sum.live_bytes, 0));
  }

  static void count_sampled(TimelinePoint& point) noexcept {
    point.live_bytes = Recorder::books().live_bytes();
    Recorder::books().for_each_joined([&](const ThreadStats& totals) {
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

  static inline constinit NoDestroyLazy<TimelineRing> timeline_;
  static inline constinit FutexLock markers_lock_;
  static inline constinit NoDestroyLazy<MarkerRing> markers_;
};

}  // namespace alloctap
