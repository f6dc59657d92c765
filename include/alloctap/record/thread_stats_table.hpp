/// The stats of all threads that record into one tracker.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/record/live_bytes.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/function_ref.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// One `ThreadStats` per thread, plus process-wide counts. Each thread writes only its own stats,
/// so no two threads write one cache line. The stats are arena memory. Constant-initialized, never
/// destroyed. Runs inside malloc unless stated otherwise.
class ThreadStatsTable {
 public:
  constexpr ThreadStatsTable() noexcept = default;

  /// Returns the calling thread's stats, created if needed; nullptr if out of memory.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE ThreadStats* of(ThreadState& thread) noexcept {
    ThreadStats* stats = get_if_exists(thread);
    return stats != nullptr ? stats : make(thread);
  }
  [[nodiscard]] ThreadStats* mine() noexcept {
    ThreadState* thread = ThreadStates::mine();
    return thread == nullptr ? nullptr : of(*thread);
  }

  /// Returns the stats of `thread`; nullptr if they were not created.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE ThreadStats* get_if_exists(
      const ThreadState& thread) const noexcept {
    return static_cast<ThreadStats*>(slot_.get(thread));
  }

  /// Adds `stats` to the list without assigning them to a thread. `stats` must never be destroyed.
  void join(ThreadStats& stats) noexcept;

  using Visitor = FunctionRef<void(ThreadStats&, const ThreadState&)>;

  /// Visits the stats of each thread, even if it has ended. The caller has stopped the world.
  void for_each(Visitor visit) noexcept;

  /// Visits all stats in the list. Threads may be running if `visit` reads only atomic members.
  void for_each_joined(FunctionRef<void(const ThreadStats&)> visit) const noexcept;

  /// Returns the event counts of all threads. The caller has stopped the world.
  [[nodiscard]] EventCounters counters() noexcept;

  /// Counts an event that was lost because its thread has no stats.
  ALLOCTAP_NOINLINE void count_dropped() noexcept {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

  /// Returns the counter of live bytes of all threads.
  [[nodiscard]] LiveBytes& live() noexcept { return live_; }

 private:
  ThreadStats* make(ThreadState& thread) noexcept;

  ThreadStateSlot slot_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<ThreadStats*> first_{nullptr};
  LiveBytes live_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/thread_stats_table.hpp"
#endif
