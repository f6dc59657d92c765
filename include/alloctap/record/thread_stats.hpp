/// What one thread has counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/arch/own_counter.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/record/live_bytes.hpp"
#include "alloctap/record/sampled_calls.hpp"
#include "alloctap/record/stack_totals.hpp"

namespace alloctap {

/// How often something happened since the start, but for what is counted per stack.
struct EventCounters {
  /// While no policy samples.
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  /// Known blocks given back.
  std::uint64_t deallocations = 0;
  std::uint64_t unmatched_frees = 0;
  /// Blocks found gone because their address was handed out again: their free was not seen.
  std::uint64_t unseen_frees = 0;
  /// Events and records lost because the system had no memory for them.
  std::uint64_t dropped = 0;
  /// Captured stacks whose walk ended before the outermost frame.
  std::uint64_t failed_unwinds = 0;
  /// Captured stacks that pass code without unwind tables, by its frame pointers.
  std::uint64_t frame_pointer_unwinds = 0;
  /// Captured stacks that were deeper than the limit on frames.
  std::uint64_t truncated_stacks = 0;

  constexpr EventCounters& operator+=(const EventCounters& other) noexcept {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    deallocations += other.deallocations;
    unmatched_frees += other.unmatched_frees;
    unseen_frees += other.unseen_frees;
    dropped += other.dropped;
    failed_unwinds += other.failed_unwinds;
    frame_pointer_unwinds += other.frame_pointer_unwinds;
    truncated_stacks += other.truncated_stacks;
    return *this;
  }
};

/// What a thread counts of its calls while no policy samples. Written by its thread alone; others
/// may read the numbers at any time, and do so in the order in which they ask.
class RecordedCalls {
 public:
  ALLOCTAP_ALWAYS_INLINE void count_allocation(std::uint64_t bytes) noexcept {
    arch::add_to_own(allocations_, 1);
    arch::add_to_own(allocated_bytes_, bytes);
  }

  /// A known block was given back.
  ALLOCTAP_ALWAYS_INLINE void count_deallocation() noexcept { arch::add_to_own(deallocations_, 1); }
  void uncount_deallocation() noexcept { arch::add_to_own(deallocations_, ~std::uint64_t{0}); }

  [[nodiscard]] std::uint64_t allocations() const noexcept { return get(allocations_); }
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept { return get(allocated_bytes_); }
  [[nodiscard]] std::uint64_t deallocations() const noexcept { return get(deallocations_); }

 private:
  using Counter = std::atomic<std::uint64_t>;

  static std::uint64_t get(const Counter& counter) noexcept {
    return counter.load(std::memory_order_acquire);
  }

  Counter allocations_{0};
  Counter allocated_bytes_{0};
  Counter deallocations_{0};
};

/// The block that a thread allocated last, while it has not freed it: freeing it now makes it a
/// temporary one.
class LastAllocation {
 public:
  /// `entry` counts its stack; nullptr where it was not counted. `generation` is that of the
  /// `ThreadState`: a thread that takes over the state of an ended one allocated nothing yet.
  void remember(const void* block, StackTotals::Entry* entry, std::uint32_t generation) noexcept {
    block_ = block;
    generation_ = generation;
    entry_ = entry;
  }

  void forget() noexcept { entry_ = nullptr; }

  /// Counts `block` as a temporary one if that is what it is.
  ALLOCTAP_ALWAYS_INLINE void note_free(const void* block, std::uint32_t generation) noexcept {
    if (block_ != block || entry_ == nullptr || generation_ != generation) return;
    StackTotals::count_temporary(*entry_);
    entry_ = nullptr;
  }

 private:
  // The pointers are no neighbours: GCC would pack them into one store, which takes longer than
  // two.
  const void* block_ = nullptr;
  std::uint32_t generation_ = 0;
  StackTotals::Entry* entry_ = nullptr;
};

/// A block that is being reallocated, where it was: it is recorded no more, or not again yet. After
/// the call it means nothing.
struct MovedBlock {
  /// `bytes` before the record is taken out, which may take its time.
  static constexpr std::size_t kNotKnownYet = ~std::size_t{0};

  void begin(const void* block) noexcept {
    start = reinterpret_cast<std::uintptr_t>(block);
    bytes = kNotKnownYet;
  }

  std::uintptr_t start = 0;
  std::size_t bytes = 0;
};

/// Written by its thread alone, inside malloc; others read it behind the closed gate. So nothing
/// here is atomic, but for what others may look at any time. Not movable.
struct ThreadStats {
  /// All that is counted while no policy samples.
  [[nodiscard]] EventCounters counters() const noexcept {
    EventCounters sum = events;
    sum.allocations += recorded.allocations();
    sum.allocated_bytes += recorded.allocated_bytes();
    sum.deallocations += recorded.deallocations();
    return sum;
  }

  /// The next one that has joined a `BlockTracker`.
  ThreadStats* next = nullptr;
  LiveBytes::Share live;
  RecordedCalls recorded;
  /// What is counted of no call that went well: so not what `recorded` has.
  EventCounters events;
  LastAllocation last;
  SampledCalls calls;
  StackTotals stacks;
  FreedTotals freed;
  MovedBlock moved;
};

}  // namespace alloctap
