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

/// One `ThreadStats` for each thread, and what the tracker counts beside them. Each thread writes
/// its own, so that no two threads write one cache line for an event. Memory from the arena;
/// constant-initialized, never destroyed. Runs inside malloc, where nothing else is said.
class ThreadStatsTable {
 public:
  constexpr ThreadStatsTable() noexcept = default;

  /// Returns the stats of the calling thread, made if need be; nullptr if the system has no memory.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE ThreadStats* of(ThreadState& thread) noexcept {
    ThreadStats* stats = get_if_exists(thread);
    return stats != nullptr ? stats : make(thread);
  }
  [[nodiscard]] ThreadStats* mine() noexcept {
    ThreadState* thread = ThreadStates::mine();
    return thread == nullptr ? nullptr : of(*thread);
  }

  /// Returns the stats of the calling thread if they were made; else nullptr.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE ThreadStats* get_if_exists(
      const ThreadState& thread) const noexcept {
    return static_cast<ThreadStats*>(slot_.get(thread));
  }

  /// Adds `stats` that are new and never destroyed, of no thread in particular.
  void join(ThreadStats& stats) noexcept;

  using Visitor = FunctionRef<void(ThreadStats&, const ThreadState&)>;

  /// Visits the stats of each thread, ended ones included. The caller has stopped the world.
  void for_each(Visitor visit) noexcept;

  /// Visits all stats that have joined. Threads may go on meanwhile, if `visit` uses only what is
  /// atomic.
  void for_each_joined(FunctionRef<void(const ThreadStats&)> visit) const noexcept;

  /// Sums up all threads. The caller has stopped the world.
  [[nodiscard]] EventCounters counters() noexcept;

  /// Counts an event that was lost on a thread without stats.
  ALLOCTAP_NOINLINE void count_dropped() noexcept {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

  /// The live bytes of all threads.
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
