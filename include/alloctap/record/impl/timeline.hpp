/// Definitions for record/timeline.hpp.
#pragma once

#include <atomic>

#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/record/timeline.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// Sums of the counters of all threads.
struct Timeline::Counts {
  [[nodiscard]] std::uint64_t calls() const noexcept { return allocations + deallocations; }

  /// Clamps differences at 0. A block that one thread allocated and another freed during the
  /// reading may be counted only as freed.
  void copy_to(TimelinePoint& point) const noexcept {
    point.allocations = allocations;
    point.allocated_bytes = allocated_bytes;
    point.live_allocations = allocations - std::min(deallocations, allocations);
    point.live_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(live_bytes, 0));
  }

  std::uint64_t threads = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::int64_t live_bytes = 0;
};

ALLOCTAP_INLINE void Timeline::add_point(const RecordedData& data) noexcept {
  const ReentrancyGuard guard;
  if (!control_lock.try_lock()) return;
  const std::lock_guard hold(control_lock, std::adopt_lock);
  add_point_locked(data);
}

ALLOCTAP_INLINE void Timeline::add_point_locked(const RecordedData& data) noexcept {
  TimelinePoint point{.time_ns = os::wall_clock_ns(), .resident_bytes = os::resident_bytes()};
  if (read_running(data, point)) return points_.get().add(point);
  if (ThreadStates::stop_world()) {
    if (data.flush_queue != nullptr) data.flush_queue();
    read_stopped(data, point);
    points_.get().add(point);
  }
  ThreadStates::resume_world();
}

ALLOCTAP_INLINE void Timeline::mark(std::string_view name) noexcept {
  const ReentrancyGuard guard;
  const std::lock_guard hold(markers_lock_);
  markers_.get().add(os::wall_clock_ns(), name);
}

ALLOCTAP_INLINE std::uint64_t Timeline::for_each_marker(
    FunctionRef<void(std::int64_t time_ns, std::string_view name)> visit) noexcept {
  const std::lock_guard hold(markers_lock_);
  markers_.get().for_each(visit);
  return markers_.get().forgotten();
}

/// Reads without stopping the world, because a stop would take longer than all other work. Retries
/// if threads make too many calls during a reading, for example because this thread was preempted.
/// Returns false if all tries fail, or if events are queued.
ALLOCTAP_INLINE bool Timeline::read_running(const RecordedData& data,
                                            TimelinePoint& point) noexcept {
  constexpr std::uint64_t kMaxMissedPerThread = 8;
  constexpr int kMaxTries = 8;
  if (!data.delivers_at_once()) return false;
  if (!data.sampling.is_exact()) {
    read_samples(data, point);
    return true;
  }
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Counts sum = read_all(data);
    if (read_all(data).calls() - sum.calls() > kMaxMissedPerThread * sum.threads) continue;
    sum.copy_to(point);
    return true;
  }
  return false;
}

ALLOCTAP_INLINE void Timeline::read_stopped(const RecordedData& data,
                                            TimelinePoint& point) noexcept {
  if (!data.sampling.is_exact()) return read_samples(data, point);
  read_all(data).copy_to(point);
}

ALLOCTAP_INLINE Timeline::Counts Timeline::read_all(const RecordedData& data) noexcept {
  Counts sum;
  data.threads.for_each_joined([&](const ThreadStats& stats) {
    ++sum.threads;
    sum.deallocations += stats.recorded.deallocations();
    sum.allocations += stats.recorded.allocations();
    sum.allocated_bytes += stats.recorded.allocated_bytes();
    sum.live_bytes += stats.live.total.load(std::memory_order_acquire);
  });
  return sum;
}

ALLOCTAP_INLINE void Timeline::read_samples(const RecordedData& data,
                                            TimelinePoint& point) noexcept {
  point.live_bytes = data.threads.live().live();
  data.threads.for_each_joined([&](const ThreadStats& stats) {
    const AllocationTotals calls = stats.calls.totals();
    point.allocations += calls.allocations;
    point.allocated_bytes += calls.allocated_bytes;
  });
  double live = 0;
  data.for_each_live(
      [&](const void*, const BlockRecord& record) { live += data.sampling.weight(record.size); });
  point.live_allocations = static_cast<std::uint64_t>(live + 0.5);
}

}  // namespace alloctap
