/// What one thread has counted.
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

/// The stacks that one thread has met, with their counters, which no other thread writes: in the
/// order of their coming, so that those of one phase of the program lie together, with a small
/// table to find them by hash.
///
/// Used by its thread alone, inside malloc; `for_each` by others too, behind the closed gate. Not
/// movable, never destroyed.
class StackTotals {
 public:
  /// Half a cache line. An entry that has counted all it can is retired (`retire`): several entries
  /// may be of one stack, whose numbers are their sum.
  struct Entry {
    std::uint64_t hash = 0;
    /// With `hash`, 96 bits of the `StackHash`: enough for equal to mean equal.
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

  /// The entry of the stack with that hash, if `find` noted that place of it; else nullptr. There
  /// may be anything in `place`. Valid until `add`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Entry* find_at(std::uint32_t place,
                                                      const StackHash& hash) noexcept {
    Entry& entry = entries_.load(std::memory_order_relaxed)[place & mask_];
    return is_of(entry, hash) ? &entry : nullptr;
  }

  /// The entry of the stack with that hash; nullptr where this thread has none. Valid until `add`.
  /// If not nullptr, `place` is where this notes what it has found, and looks first: there may be
  /// anything. A stack whose place is known takes one comparison, and none is guessed wrong.
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

  /// An entry for `stack`, which has none; nullptr where the system has no memory for it.
  [[nodiscard]] Entry* add(const StackHash& hash, StackId stack) noexcept;

  /// The entry of `stack`, made if need be; nullptr where the system has no memory for it.
  [[nodiscard]] Entry* find_or_add(const StackHash& hash, StackId stack) noexcept;

  /// Counts an allocation of `bytes`.
  ALLOCTAP_ALWAYS_INLINE static void count(Entry& entry, std::uint64_t bytes) noexcept {
    entry.allocated_bytes += bytes;
    if (++entry.allocations == kMaxAllocations) [[unlikely]] {
      retire(entry);
    }
  }

  /// Counts an allocation that was counted before as a temporary one too.
  static void count_temporary(Entry& entry) noexcept { ++entry.temporary_allocations; }

  /// From now on `find` does not find the stacks for which `is_retired(StackId)`. By others than
  /// its thread behind the closed gate.
  template <class IsRetired>
  void forget_stacks(IsRetired&& is_retired) noexcept {
    for (Entry& entry : used_entries()) {
      if (!is_retired(entry.stack)) continue;
      const StackHash retired = hash_of_retired(entry.stack);
      entry.hash = retired.first;
      entry.check = check_of(retired);
    }
  }

  /// Calls `visit(StackId, const AllocationTotals&)`, several times for some stacks.
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

  /// Keeps what was counted under a hash that is nobody's, so that the next allocation of that
  /// stack finds no entry and begins another one.
  ALLOCTAP_NOINLINE static void retire(Entry& entry) noexcept { entry.hash = ~entry.hash; }

  /// In the reverse order of `add`.
  [[nodiscard]] std::span<Entry> used_entries() const noexcept {
    const std::size_t used = used_.load(std::memory_order_acquire);
    return {entries_.load(std::memory_order_acquire) + 1, used};
  }

  /// What a full one grows to. By four while it is small: all of its pages are paid for again.
  [[nodiscard]] std::size_t next_capacity() const noexcept {
    constexpr std::size_t kSmallBytes = 2 * 1024 * 1024;
    const std::size_t capacity = mask_ + 1;
    return capacity * (capacity * sizeof(Entry) < kSmallBytes ? 4 : 2);
  }

  /// Makes room for as many entries, the one that is nobody's included.
  bool grow(std::size_t capacity) noexcept;

  /// Number 0 is nobody's.
  std::atomic<Entry*> entries_{nullptr};
  std::size_t mask_ = kFirstCapacity - 1;
  std::atomic<std::size_t> used_{0};
  NumberedSlots slots_;
  std::array<Entry, kFirstCapacity> first_{};
};

/// Beside `StackTotals`, the other half of what is live by stack: the sum of all threads'
/// allocations less that of all threads' frees. So that is known without visiting each block.
///
/// An array by StackId in pieces that are made when they are needed: ids are given in the order of
/// first use, so the stacks of a program's phase stand side by side.
///
/// Used by its thread alone, inside malloc; `for_each` by others too, behind the closed gate. Not
/// movable, never destroyed.
class FreedTotals {
 public:
  struct Entry {
    /// Wrap around below zero where more was put back than taken.
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
  };

  FreedTotals() noexcept = default;
  FreedTotals(const FreedTotals&) = delete;
  FreedTotals& operator=(const FreedTotals&) = delete;

  /// Counts a block of `bytes`.
  ALLOCTAP_ALWAYS_INLINE void count(StackId stack, std::uint64_t bytes) noexcept {
    add(stack, 1, bytes);
  }

  /// Undoes `count`, maybe that of another thread.
  void uncount(StackId stack, std::uint64_t bytes) noexcept {
    add(stack, ~std::uint64_t{0}, ~bytes + 1);
  }

  /// False: the system had no memory for something that was to be counted.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Calls `visit(StackId, const Entry&)` for each stack of which something was counted.
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

  /// By StackId / kPiece; nullptr where there is none yet.
  ArenaArray<Piece*> pieces_;
  bool complete_ = true;
};

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

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/thread_stats.hpp"
#endif
