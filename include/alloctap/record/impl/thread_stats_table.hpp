/// Definitions for record/thread_stats_table.hpp.
#pragma once

#include <new>

#include "alloctap/record/thread_stats_table.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

ALLOCTAP_INLINE void ThreadStatsTable::join(ThreadStats& stats) noexcept {
  live_.join(stats.live);
  stats.next = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(stats.next, &stats, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

ALLOCTAP_INLINE void ThreadStatsTable::for_each(Visitor visit) noexcept {
  ThreadStates::for_each([&](const ThreadState& thread) {
    if (ThreadStats* stats = get_if_exists(thread)) visit(*stats, thread);
  });
}

ALLOCTAP_INLINE void ThreadStatsTable::for_each_joined(
    FunctionRef<void(const ThreadStats&)> visit) const noexcept {
  for (const ThreadStats* stats = first_.load(std::memory_order_acquire); stats != nullptr;
       stats = stats->next) {
    visit(*stats);
  }
}

ALLOCTAP_INLINE EventCounters ThreadStatsTable::counters() noexcept {
  EventCounters sum;
  for_each([&](const ThreadStats& stats, const ThreadState&) { sum += stats.counters(); });
  sum.dropped += dropped();
  return sum;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE ThreadStats* ThreadStatsTable::make(
    ThreadState& thread) noexcept {
  if (!slot_.is_claimed()) return nullptr;
  void* memory = Arena::allocate(sizeof(ThreadStats));
  if (memory == nullptr) return nullptr;
  auto* const stats = ::new (memory) ThreadStats;
  join(*stats);
  static_cast<void>(slot_.set(thread, stats));
  return stats;
}

}  // namespace alloctap
