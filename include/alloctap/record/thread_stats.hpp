/// Per-thread counters: events, allocations and frees by stack.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "alloctap/arch/own_counter.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/numbered_slots.hpp"
#include "alloctap/record/allocation_totals.hpp"
#include "alloctap/record/live_bytes.hpp"
#include "alloctap/record/sampled_calls.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// The stacks that one thread has allocated from, with counters that only this thread writes.
/// Entries are in the order of first use, so those of one program phase are adjacent; a small hash
/// table finds them.
///
/// Used by its thread, inside malloc; other threads may call `for_each` while the world is stopped.
/// Not movable, never destroyed.
class StackTotals {
 public:
  /// Half a cache line. An entry whose counter is full is retired (`retire`): a stack may have
  /// several entries, to be summed.
  struct Entry {
    std::uint64_t hash = 0;
    /// Together with `hash`, 96 bits of the `StackHash`, enough to identify a stack.
    std::uint32_t check = 0;
    StackId stack = kNoStackId;
    std::uint64_t allocated_bytes = 0;
    std::uint32_t allocations = 0;
    std::uint32_t temporary_allocations = 0;
  };
  static_assert(sizeof(Entry) == 32);

  StackTotals() noexcept { entries_.store(first_.data(), std::memory_order_relaxed); }
  StackTotals(const StackTotals&) = delete;
  StackTotals& operator=(const StackTotals&) = delete;

  /// Returns the entry at `place` if it is that of `hash`; else nullptr. `place` is a hint from
  /// `find` and may be any number. Valid until `add`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Entry* find_at(std::uint32_t place,
                                                      const StackHash& hash) noexcept {
    Entry& entry = entries_.load(std::memory_order_relaxed)[place & mask_];
    return is_of(entry, hash) ? &entry : nullptr;
  }

  /// Returns the entry of `hash`; nullptr if this thread has none. Valid until `add`. `place`, if
  /// not null, is a hint that is tried first and updated; it may be any number. A correct hint
  /// costs one comparison and no branch misprediction.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Entry* find(const StackHash& hash,
                                                   std::uint32_t* place = nullptr) noexcept {
    if (place != nullptr) {
      if (Entry* const entry = find_at(*place, hash); entry != nullptr) [[likely]] {
        return entry;
      }
    }
    Entry* const entries = entries_.load(std::memory_order_relaxed);
    const std::uint32_t number = slots_.find(
        hash.first, [&](std::uint32_t candidate) { return is_of(entries[candidate], hash); });
    if (number == 0) return nullptr;
    if (place != nullptr) *place = number;
    return &entries[number];
  }

  /// Adds an entry for `stack`, which has none; returns nullptr if out of memory.
  [[nodiscard]] Entry* add(const StackHash& hash, StackId stack) noexcept;

  /// Returns the entry of `stack`, added if needed; nullptr if out of memory.
  [[nodiscard]] Entry* find_or_add(const StackHash& hash, StackId stack) noexcept;

  /// Counts an allocation of `bytes`.
  ALLOCTAP_ALWAYS_INLINE static void count(Entry& entry, std::uint64_t bytes) noexcept {
    entry.allocated_bytes += bytes;
    if (++entry.allocations == kMaxAllocations) [[unlikely]] {
      retire(entry);
    }
  }

  /// Marks an allocation, already counted, as temporary.
  static void count_temporary(Entry& entry) noexcept { ++entry.temporary_allocations; }

  /// Makes `find` miss the stacks for which `is_retired(StackId)`. Other threads may call it while
  /// the world is stopped.
  template <class IsRetired>
  void forget_stacks(IsRetired&& is_retired) noexcept {
    for (Entry& entry : used_entries()) {
      if (!is_retired(entry.stack)) continue;
      const StackHash retired = hash_of_retired(entry.stack);
      entry.hash = retired.first;
      entry.check = check_of(retired);
    }
  }

  /// Calls `visit(StackId, const AllocationTotals&)`, for some stacks more than once.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : used_entries()) {
      visit(entry.stack, AllocationTotals{.allocations = entry.allocations,
                                          .allocated_bytes = entry.allocated_bytes,
                                          .temporary_allocations = entry.temporary_allocations});
    }
  }

 private:
  static constexpr std::size_t kFirstCapacity = NumberedSlots::kFirstCapacity / 2;
  static constexpr std::uint32_t kMaxAllocations = std::numeric_limits<std::uint32_t>::max();

  static bool is_of(const Entry& entry, const StackHash& hash) noexcept {
    return entry.hash == hash.first && entry.check == check_of(hash);
  }

  static std::uint32_t check_of(const StackHash& hash) noexcept {
    return static_cast<std::uint32_t>(hash.second >> 32);
  }

  /// Keeps the counts under a hash that no stack has, so that the stack's next allocation starts a
  /// new entry.
  ALLOCTAP_NOINLINE static void retire(Entry& entry) noexcept { entry.hash = ~entry.hash; }

  /// Loads in the reverse order of the stores in `add`.
  [[nodiscard]] std::span<Entry> used_entries() const noexcept {
    const std::size_t used = used_.load(std::memory_order_acquire);
    return {entries_.load(std::memory_order_acquire) + 1, used};
  }

  /// Returns the capacity to grow to. Quadruples while small, because growing touches all pages
  /// again.
  [[nodiscard]] std::size_t next_capacity() const noexcept {
    constexpr std::size_t kSmallBytes = 2 * 1024 * 1024;
    const std::size_t capacity = mask_ + 1;
    return capacity * (capacity * sizeof(Entry) < kSmallBytes ? 4 : 2);
  }

  /// Grows to `capacity` entries, including the unused entry 0. Returns false if out of memory.
  bool grow(std::size_t capacity) noexcept;

  /// Entry 0 is unused.
  std::atomic<Entry*> entries_{nullptr};
  std::size_t mask_ = kFirstCapacity - 1;
  std::atomic<std::size_t> used_{0};
  NumberedSlots slots_;
  std::array<Entry, kFirstCapacity> first_{};
};

/// Freed blocks by stack. Live blocks by stack are all threads' `StackTotals` minus all threads'
/// `FreedTotals`, so no walk over the heap is needed.
///
/// A two-level array by StackId, whose pieces are allocated on demand. Ids are assigned in the
/// order of first use, so the stacks of one program phase are adjacent.
///
/// Used by its thread, inside malloc; other threads may call `for_each` while the world is stopped.
/// Not movable, never destroyed.
class FreedTotals {
 public:
  struct Entry {
    /// Wraps below 0 if more was uncounted than counted.
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
  };

  FreedTotals() noexcept = default;
  FreedTotals(const FreedTotals&) = delete;
  FreedTotals& operator=(const FreedTotals&) = delete;

  /// Counts a freed block of `bytes`.
  ALLOCTAP_ALWAYS_INLINE void count(StackId stack, std::uint64_t bytes) noexcept {
    add(stack, 1, bytes);
  }

  /// Undoes `count`, possibly of another thread.
  void uncount(StackId stack, std::uint64_t bytes) noexcept {
    add(stack, ~std::uint64_t{0}, ~bytes + 1);
  }

  /// Returns false if a count was lost because the thread was out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Calls `visit(StackId, const Entry&)` for each stack with counts.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i] == nullptr) continue;
      for (std::size_t j = 0; j < kPiece; ++j) {
        const Entry& entry = (*pieces_[i])[j];
        if (entry.blocks != 0 || entry.bytes != 0) {
          visit(static_cast<StackId>(i * kPiece + j), entry);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kPiece = 256;
  using Piece = std::array<Entry, kPiece>;

  ALLOCTAP_ALWAYS_INLINE void add(StackId stack, std::uint64_t blocks,
                                  std::uint64_t bytes) noexcept {
    Entry* entry = entry_of(stack);
    if (entry == nullptr) [[unlikely]] {
      complete_ = false;
      return;
    }
    entry->blocks += blocks;
    entry->bytes += bytes;
  }

  ALLOCTAP_ALWAYS_INLINE Entry* entry_of(StackId stack) noexcept {
    const std::size_t piece = stack / kPiece;
    if (piece >= pieces_.size() || pieces_[piece] == nullptr) [[unlikely]] {
      return make_entry(stack);
    }
    return &(*pieces_[piece])[stack % kPiece];
  }

  Entry* make_entry(StackId stack) noexcept;

  /// Indexed by StackId / kPiece; nullptr if not yet allocated.
  ArenaArray<Piece*> pieces_;
  bool complete_ = true;
};

/// Event counts since the start, except for those kept per stack.
struct EventCounters {
  /// Counted only while no policy samples.
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  /// Frees of known blocks.
  std::uint64_t deallocations = 0;
  std::uint64_t unmatched_frees = 0;
  /// Live blocks whose address was allocated again: their free was not seen.
  std::uint64_t unseen_frees = 0;
  /// Events and records lost because the tracker was out of memory.
  std::uint64_t dropped = 0;
  /// Captured stacks whose unwinding ended before the outermost frame.
  std::uint64_t failed_unwinds = 0;
  /// Captured stacks with frames unwound by frame pointers, for lack of unwind tables.
  std::uint64_t frame_pointer_unwinds = 0;
  /// Captured stacks deeper than the frame limit.
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

/// A thread's call counters while no policy samples. Only its thread writes them; other threads may
/// read them at any time, and the loads keep their order.
class RecordedCalls {
 public:
  ALLOCTAP_ALWAYS_INLINE void count_allocation(std::uint64_t bytes) noexcept {
    arch::add_to_own(allocations_, 1);
    arch::add_to_own(allocated_bytes_, bytes);
  }

  /// Counts the free of a known block.
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

/// The thread's last allocation, until it is freed or replaced. Freeing it now makes it a temporary
/// allocation, as in heaptrack.
class LastAllocation {
 public:
  /// `entry` counts its stack; nullptr if it was not counted. `generation` is that of the
  /// `ThreadState`: a new owner of the state has not allocated yet.
  void remember(const void* block, StackTotals::Entry* entry, std::uint32_t generation) noexcept {
    block_ = block;
    generation_ = generation;
    entry_ = entry;
  }

  void forget() noexcept { entry_ = nullptr; }

  /// Counts `block` as temporary if it is the last allocation.
  ALLOCTAP_ALWAYS_INLINE void note_free(const void* block, std::uint32_t generation) noexcept {
    if (block_ != block || entry_ == nullptr || generation_ != generation) return;
    StackTotals::count_temporary(*entry_);
    entry_ = nullptr;
  }

 private:
  // The pointers are not adjacent: GCC would merge them into one vector store, which is slower than
  // two.
  const void* block_ = nullptr;
  std::uint32_t generation_ = 0;
  StackTotals::Entry* entry_ = nullptr;
};

/// The old address range of a block that is being reallocated, while no record covers it.
/// Meaningless after the call.
struct MovedBlock {
  /// `bytes` before the record is removed, which may block.
  static constexpr std::size_t kNotKnownYet = ~std::size_t{0};

  void begin(const void* block) noexcept {
    start = reinterpret_cast<std::uintptr_t>(block);
    bytes = kNotKnownYet;
  }

  std::uintptr_t start = 0;
  std::size_t bytes = 0;
};

/// All counters of one thread in one tracker. Only the thread writes them, inside malloc; others
/// read while the world is stopped. Only members that others may read at any time are atomic. Not
/// movable.
struct ThreadStats {
  /// Returns everything that is counted while no policy samples.
  [[nodiscard]] EventCounters counters() const noexcept {
    EventCounters sum = events;
    sum.allocations += recorded.allocations();
    sum.allocated_bytes += recorded.allocated_bytes();
    sum.deallocations += recorded.deallocations();
    return sum;
  }

  /// The next in the list of `ThreadStatsTable::join`.
  ThreadStats* next = nullptr;
  LiveBytes::Share live;
  RecordedCalls recorded;
  /// Rare events; the fields that `recorded` counts stay 0.
  EventCounters events;
  LastAllocation last;
  SampledCalls calls;
  StackTotals stacks;
  FreedTotals freed;
  MovedBlock moved;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/thread_stats.hpp"
#endif
