/// Definitions for record/peak_tracker.hpp.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/record/peak_tracker.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

ALLOCTAP_INLINE void PeakTracker::on_peak_passed(const BlockRecord& gone,
                                                 const RecordedData& data) noexcept {
  WorldGate::Flag& recording = this_thread_slot().state->recording;
  WorldGate::leave(recording);
  if (flight_.try_begin()) {
    take_if_possible(gone, data);
    flight_.end();
  } else {
    // Waits, because the snapshot would lack blocks that this thread frees before the world is
    // stopped. Stopping may take long if the thread that takes the snapshot is preempted.
    flight_.await_end(kTimeoutNs);
  }
  WorldGate::enter(recording);
}

ALLOCTAP_INLINE void PeakTracker::take_if_possible(const BlockRecord& gone,
                                                   const RecordedData& data) noexcept {
  // If threads are confined to the system calls of malloc, the world cannot be stopped.
  if (os::threads_are_confined.load(std::memory_order_relaxed)) return;
  if (!control_lock.try_lock()) return;
  const std::lock_guard hold(control_lock, std::adopt_lock);
  if (state_.get().budget.has_left(os::monotonic_ns())) take(gone, data);
}

ALLOCTAP_INLINE void PeakTracker::take(const BlockRecord& gone, const RecordedData& data) noexcept {
  const std::int64_t began = os::monotonic_ns();
  const std::int64_t cpu_began = os::thread_cpu_ns();
  const bool stopped = ThreadStates::stop_world(kTimeoutNs);
  if (stopped && add_up(gone, data)) keep();
  data.threads.live().note_peak_snapshot();
  ThreadStates::resume_world();
  const std::int64_t cpu = os::thread_cpu_ns() - cpu_began;
  const std::int64_t elapsed = os::monotonic_ns() - began;
  state_.get().budget.spend(TimeBudget::cost(cpu, elapsed, !stopped));
}

/// Returns false if out of memory, or if a thread lost counts of its frees.
ALLOCTAP_INLINE bool PeakTracker::add_up(const BlockRecord& gone,
                                         const RecordedData& data) noexcept {
  ArenaArray<Sums>& sums = state_.get().sums;
  sums.clear();
  if (!sums.resize(data.stacks.end_id())) return false;
  if (!data.sampling.is_exact()) {
    add_samples(gone, data);
    return true;
  }
  add(gone.stack, 1, gone.size);
  return add_stats(data.threads);
}

ALLOCTAP_INLINE void PeakTracker::add_samples(const BlockRecord& gone,
                                              const RecordedData& data) noexcept {
  const auto rounded = [](double number) { return static_cast<std::uint64_t>(number + 0.5); };
  const auto add_sample = [&](const void*, const BlockRecord& sample) {
    const double weight = data.sampling.weight(sample.size);
    add(sample.stack, rounded(weight), rounded(weight * static_cast<double>(sample.size)));
  };
  data.for_each_live(add_sample);
  add_sample(nullptr, gone);
}

ALLOCTAP_INLINE bool PeakTracker::add_stats(ThreadStatsTable& threads) noexcept {
  bool complete = true;
  threads.for_each([&](const ThreadStats& stats, const ThreadState&) {
    stats.stacks.for_each([&](StackId stack, const AllocationTotals& allocated) {
      add(stack, allocated.allocations, allocated.allocated_bytes);
    });
    stats.freed.for_each([&](StackId stack, const FreedTotals::Entry& freed) {
      add(stack, -freed.blocks, -freed.bytes);
    });
    complete = complete && stats.freed.complete();
  });
  return complete;
}

/// `blocks` and `bytes` may be negative numbers, wrapped around.
ALLOCTAP_INLINE void PeakTracker::add(StackId stack, std::uint64_t blocks,
                                      std::uint64_t bytes) noexcept {
  Sums& sums = state_.get().sums[stack];
  sums.blocks += static_cast<std::int64_t>(blocks);
  sums.bytes += static_cast<std::int64_t>(bytes);
}

ALLOCTAP_INLINE void PeakTracker::keep() noexcept {
  State& state = state_.get();
  Peak& peak = state.spare;
  peak.time_ns = os::wall_clock_ns();
  peak.live_bytes = 0;
  peak.stacks.clear();
  for (StackId stack = 0; stack < state.sums.size(); ++stack) {
    const Sums& sums = state.sums[stack];
    if (sums.blocks <= 0) continue;
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(sums.bytes, 0));
    if (!peak.stacks.push_back({stack, static_cast<std::uint64_t>(sums.blocks), bytes})) return;
    peak.live_bytes += bytes;
  }
  std::swap(state.peak, state.spare);
}

}  // namespace alloctap
