/// Records the blocks of the program's memory pools.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/pool_books.hpp"
#include "alloctap/meta/pool_table.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// Records every block of every pool, unsampled, between `on_start` and `on_stop`. `Recorder`
/// captures the stacks. Callers preserve errno. While recording is paused, new blocks are ignored.
/// The data stays readable after the session. All members are static and never destroyed.
template <class Recorder>
class PoolRecorder {
 public:
  static void on_start() noexcept {
    PoolAnnotations::add(listener_);
    running_.store(true, std::memory_order_release);
  }
  static void on_stop() noexcept { running_.store(false, std::memory_order_release); }

  /// Adds all pools to `sum`. The caller has stopped the world. Returns false if out of memory.
  [[nodiscard]] static bool add_to(PoolsSummary& sum) noexcept {
    const PoolFaults faults = books_.faults();
    sum.known = true;
    sum.unknown_frees = faults.unknown_frees;
    sum.wrong_pool_frees = faults.wrong_pool_frees;
    sum.announced_twice = faults.announced_twice;
    sum.unknown_pools = faults.unknown_pools;
    sum.dropped = faults.dropped;
    sum.refused_pools = process_pools.refused();
    if (Recorder::mode().pauses() > 0) sum.unknown_frees.reset();
    for (std::uint32_t slot = 1; slot < process_pools.end_slot(); ++slot) {
      if (!add_pool(slot, sum)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] static bool add_pool(std::uint32_t slot, PoolsSummary& sum) noexcept {
    const PoolBook& book = books_.book(slot);
    const bool destroyed = process_pools.is_destroyed(slot);
    // Asks `process_pools`: `books_` misses destructions outside sessions and inside dumps.
    const bool ended = !process_pools.is_alive(PoolHandle::of(slot, book.generation()));
    const PoolSums total = still_live(book.sums(), ended);
    const std::size_t first = sum.stacks.size();
    bool complete = true;
    book.stacks().for_each([&](StackId stack, const PoolSums& of_stack) {
      const PoolSums sums = still_live(of_stack, ended);
      complete = sum.stacks.push_back({stack, sums.allocations, sums.allocated_bytes,
                                       sums.live_allocations, sums.live_bytes}) &&
                 complete;
    });
    std::sort(
        sum.stacks.begin() + first, sum.stacks.end(),
        [](const PoolStackSummary& a, const PoolStackSummary& b) { return a.stack < b.stack; });
    return complete && sum.pools.push_back({.name = process_pools.name(slot),
                                            .destroyed = destroyed,
                                            .allocations = total.allocations,
                                            .allocated_bytes = total.allocated_bytes,
                                            .live_allocations = total.live_allocations,
                                            .live_bytes = total.live_bytes,
                                            .peak_live_bytes = book.peak_live_bytes(),
                                            .overhead_bytes = process_pools.overhead(slot),
                                            .first_stack = first,
                                            .stack_count = sum.stacks.size() - first});
  }

  /// Returns `sums`, without live blocks if the pool was destroyed.
  [[nodiscard]] static PoolSums still_live(PoolSums sums, bool pool_ended) noexcept {
    if (pool_ended) sums.end_all();
    return sums;
  }

  [[nodiscard]] static bool is_running() noexcept {
    return running_.load(std::memory_order_acquire);
  }

  static void allocate(PoolHandle pool, void* pointer, std::size_t bytes,
                       const CallOrigin& origin) noexcept {
    if (!is_running() || Recorder::mode().paused() || Recorder::is_internal_call(origin)) return;
    const RecordingScope section;
    ThreadStats* const stats = section.thread() == nullptr ? nullptr : Recorder::mine();
    if (stats == nullptr) return books_.note_dropped();
    books_.allocate(pool, pointer,
                    {.stack = Recorder::capture(*section.thread(), *stats, origin), .size = bytes});
  }

  static void free(PoolHandle pool, void* pointer) noexcept {
    if (!is_running()) return;
    const RecordingScope section;
    if (section.thread() != nullptr) books_.free(pool, pointer);
  }

  static void reset(PoolHandle pool) noexcept {
    if (!is_running()) return;
    const RecordingScope section;
    if (section.thread() != nullptr) books_.reset(pool);
  }

  static void note_unknown_pool() noexcept {
    if (is_running()) books_.note_unknown_pool();
  }

  static inline constinit PoolBooks<process_pools> books_;
  static inline constinit std::atomic<bool> running_{false};
  static inline constinit PoolAnnotations::Listener listener_{
      .allocate = &allocate,
      .free = &free,
      .reset = &reset,
      .note_unknown_pool = &note_unknown_pool,
  };
};

}  // namespace alloctap
