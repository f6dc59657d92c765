/// Per-thread counters: of events, of sampled calls, and of allocations and frees per stack.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "alloctap/arch/instructions.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/numbered_slots.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/record/live_bytes.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Exact counts of one thread's calls in sessions that sample, whether a call was sampled or not.
/// Only that thread writes them, inside malloc, even outside recording scopes. Other threads may
/// read the numbers at any time.
class SampledCalls {
 public:
  /// Initializes the counters of a thread that has not allocated yet. `countdown` must outlive the
  /// counters; only `count_skipped` and the policy decrease it. `generation` is
  /// `ThreadState::generation`.
  void begin(std::uint64_t& countdown, std::uint32_t generation) noexcept {
    countdown_ = &countdown;
    last_ = nullptr;
    generation_ = generation;
  }

  /// Returns whether `begin` was called for the current owner of the `ThreadState`.
  [[nodiscard]] bool has_begun(std::uint32_t generation) const noexcept {
    return countdown_ != nullptr && generation_ == generation;
  }

  /// Counts an unsampled allocation and subtracts its size from the countdown. Returns false
  /// without effect if `bytes` is 0 or exceeds the countdown.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool count_skipped(const void* block,
                                                          std::uint64_t bytes) noexcept {
    // Loads once: if a signal handler subtracted between two loads, the subtraction would wrap.
    const std::atomic_ref countdown(*countdown_);
    const std::uint64_t left = countdown.load(std::memory_order_relaxed);
    if (bytes - 1 >= left) [[unlikely]] {
      return false;
    }
    countdown.store(left - bytes, std::memory_order_relaxed);
    count_allocation(block, bytes);
    return true;
  }

  ALLOCTAP_ALWAYS_INLINE void count_allocation(const void* block, std::uint64_t bytes) noexcept {
    arch::add_to_own(allocations_, 1);
    arch::add_to_own(allocated_bytes_, bytes);
    last_ = block;
  }

  /// Marks the last counted allocation as sampled.
  void note_sample() noexcept { last_ = mark_of_sample(last_); }

  /// Counts the free of `block` (not null) as temporary if `block` is the thread's last allocation
  /// (`LastAllocation`) and unsampled. Otherwise returns false without effect.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool count_skipped_temporary(const void* block) noexcept {
    if (last_ != block) return false;
    last_ = nullptr;
    arch::add_to_own(temporary_, 1);
    return true;
  }

  /// Counts the free of a block that is not the thread's last allocation.
  ALLOCTAP_ALWAYS_INLINE void count_lasting() noexcept { arch::add_to_own(lasting_, 1); }
  void uncount_lasting() noexcept { arch::add_to_own(lasting_, ~std::uint64_t{0}); }

  /// Counts a free as temporary instead of lasting if `block` is the thread's last allocation,
  /// whether sampled or not. Otherwise returns false without effect.
  bool count_temporary(const void* block) noexcept {
    if (last_ != block && last_ != mark_of_sample(block)) return false;
    last_ = nullptr;
    arch::add_to_own(temporary_, 1);
    uncount_lasting();
    return true;
  }

  void forget_last() noexcept { last_ = nullptr; }

  [[nodiscard]] AllocationTotals totals() const noexcept {
    return {.allocations = get(allocations_),
            .allocated_bytes = get(allocated_bytes_),
            .temporary_allocations = get(temporary_)};
  }
  [[nodiscard]] std::uint64_t deallocations() const noexcept {
    return get(lasting_) + get(temporary_);
  }

 private:
  using Counter = std::atomic<std::uint64_t>;

  static std::uint64_t get(const Counter& counter) noexcept {
    return counter.load(std::memory_order_relaxed);
  }

  /// Returns the complement of a sampled block's address. The complement equals no block's address,
  /// so comparing `last_` with a block also rejects samples.
  static const void* mark_of_sample(const void* block) noexcept {
    return reinterpret_cast<const void*>(~reinterpret_cast<std::uintptr_t>(block));
  }

  Counter allocations_{0};
  Counter allocated_bytes_{0};
  /// Frees of blocks that were not their thread's last allocation.
  Counter lasting_{0};
  Counter temporary_{0};
  const void* last_ = nullptr;
  std::uint64_t* countdown_ = nullptr;
  std::uint32_t generation_ = 0;
};

/// The stacks that one thread has allocated from, with their counters. Entries are in the order of
/// first use, so stacks of one program phase are adjacent. A small hash table finds an entry.
///
/// The owning thread uses it inside malloc. Other threads may call `for_each` while the world is
/// stopped. Not movable, never destroyed.
class StackTotals {
 public:
  /// The counters of one stack, in half a cache line. If a counter is full, the entry is retired
  /// (`retire`) and the stack gets another entry. Readers sum up all entries of a stack.
  struct Entry {
    std::uint64_t hash = 0;
    /// More bits of the hash. `hash` and `check` have 96 bits, enough to identify a stack.
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

  /// Returns the entry in slot `place` if its hash is `hash`; otherwise nullptr. `place` is a hint
  /// from `find` and may be any number. The result is valid until `add`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Entry* find_at(std::uint32_t place,
                                                      const StackHash& hash) noexcept {
    Entry& entry = entries_.load(std::memory_order_relaxed)[place & mask_];
    return is_of(entry, hash) ? &entry : nullptr;
  }

  /// Returns the entry of `hash`; nullptr if this thread has none. The result is valid until `add`.
  /// If not null, `place` points to a slot number to try first, which may be wrong and is updated.
  /// A correct hint costs one comparison and no branch misprediction.
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

  /// Adds an entry for a stack without one. Returns nullptr if out of memory.
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

  /// Counts an already counted allocation as temporary, too.
  static void count_temporary(Entry& entry) noexcept { ++entry.temporary_allocations; }

  /// Invalidates the hashes of stacks for which `is_retired(StackId)` returns true, so that `find`
  /// misses them. Other threads may call this while the world is stopped.
  template <class IsRetired>
  void forget_stacks(IsRetired&& is_retired) noexcept {
    for (Entry& entry : used_entries()) {
      if (!is_retired(entry.stack)) continue;
      const StackHash retired = hash_of_retired(entry.stack);
      entry.hash = retired.first;
      entry.check = check_of(retired);
    }
  }

  /// Calls `visit(StackId, const AllocationTotals&)` for each entry; a stack may have several
  /// entries.
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

  /// Replaces the entry's hash by one that no stack has, so that the stack's next allocation adds a
  /// new entry. The counts stay.
  ALLOCTAP_NOINLINE static void retire(Entry& entry) noexcept { entry.hash = ~entry.hash; }

  /// Loads in the reverse order of the stores in `add`, so that the array has all `used` entries.
  [[nodiscard]] std::span<Entry> used_entries() const noexcept {
    const std::size_t used = used_.load(std::memory_order_acquire);
    return {entries_.load(std::memory_order_acquire) + 1, used};
  }

  /// Returns the capacity to grow to. Small arrays quadruple, because each growth touches all pages
  /// again.
  [[nodiscard]] std::size_t next_capacity() const noexcept {
    constexpr std::size_t kSmallBytes = 2 * 1024 * 1024;
    const std::size_t capacity = mask_ + 1;
    return capacity * (capacity * sizeof(Entry) < kSmallBytes ? 4 : 2);
  }

  /// Grows to `capacity` entries, counting the unused entry 0. Returns false if out of memory.
  bool grow(std::size_t capacity) noexcept;

  /// Element 0 is unused.
  std::atomic<Entry*> entries_{nullptr};
  std::size_t mask_ = kFirstCapacity - 1;
  std::atomic<std::size_t> used_{0};
  NumberedSlots slots_;
  std::array<Entry, kFirstCapacity> first_{};
};

/// Freed blocks per stack. The live blocks of a stack are all threads' `StackTotals` minus all
/// threads' `FreedTotals`, so that no walk over the heap is needed.
///
/// A two-level array indexed by StackId. Its second-level arrays are allocated on demand. Ids are
/// assigned in the order of first use, so stacks of one program phase are adjacent.
///
/// The owning thread uses it inside malloc. Other threads may call `for_each` while the world is
/// stopped. Not movable, never destroyed.
class FreedTotals {
 public:
  struct Entry {
    /// Wraps below 0 if this thread uncounted more blocks than it counted.
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

  /// Undoes a `count`, possibly by another thread.
  void uncount(StackId stack, std::uint64_t bytes) noexcept {
    add(stack, ~std::uint64_t{0}, ~bytes + 1);
  }

  /// Returns false if this thread ever lost a count because memory ran out.
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

/// Event counts since the start of recording, without counts per stack.
struct EventCounters {
  /// Counted only in sessions that do not sample.
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  /// Frees of blocks that the tracker recorded.
  std::uint64_t deallocations = 0;
  std::uint64_t unmatched_frees = 0;
  /// Recorded blocks whose address was allocated again, because their free was not observed.
  std::uint64_t unseen_frees = 0;
  /// Events and records lost because the tracker was out of memory.
  std::uint64_t dropped = 0;
  /// Captured stacks whose unwinding ended before the outermost frame.
  std::uint64_t failed_unwinds = 0;
  /// Captured stacks that have frames without unwind tables, unwound by frame pointers instead.
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

/// A thread's call counters in sessions that do not sample. Only that thread writes them. Other
/// threads may read them at any time; acquire loads keep the reads in program order.
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

/// The thread's last allocation, until the block is freed or the thread allocates again. If the
/// free comes first, the allocation is temporary, as in heaptrack.
class LastAllocation {
 public:
  /// `entry` counts the block's stack; nullptr if the block was not counted. `generation` is
  /// `ThreadState::generation`, because a new owner of the state has not allocated yet.
  void remember(const void* block, StackTotals::Entry* entry, std::uint32_t generation) noexcept {
    block_ = block;
    generation_ = generation;
    entry_ = entry;
  }

  void forget() noexcept { entry_ = nullptr; }

  /// Counts `block` as temporary if it is the thread's last allocation.
  ALLOCTAP_ALWAYS_INLINE void note_free(const void* block, std::uint32_t generation) noexcept {
    if (block_ != block || entry_ == nullptr || generation_ != generation) return;
    StackTotals::count_temporary(*entry_);
    entry_ = nullptr;
  }

 private:
  // The pointers are not adjacent, because GCC would merge their stores into one vector store,
  // which is slower than two scalar stores.
  const void* block_ = nullptr;
  std::uint32_t generation_ = 0;
  StackTotals::Entry* entry_ = nullptr;
};

/// The old address range of a block that is being reallocated, while no record covers that range.
/// Meaningless after the reallocation.
struct MovedBlock {
  /// The value of `bytes` until the record is removed; the removal may block on a lock.
  static constexpr std::size_t kNotKnownYet = ~std::size_t{0};

  void begin(const void* block) noexcept {
    start = reinterpret_cast<std::uintptr_t>(block);
    bytes = kNotKnownYet;
  }

  std::uintptr_t start = 0;
  std::size_t bytes = 0;
};

/// All counters of one thread in one tracker. Only that thread writes them, inside malloc. Other
/// threads read them while the world is stopped; members that they may read at any time are atomic.
/// Not movable.
struct ThreadStats {
  /// Returns all counts of sessions that do not sample.
  [[nodiscard]] EventCounters counters() const noexcept {
    EventCounters sum = events;
    sum.allocations += recorded.allocations();
    sum.allocated_bytes += recorded.allocated_bytes();
    sum.deallocations += recorded.deallocations();
    return sum;
  }

  /// The next element of the list that `ThreadStatsTable::join` builds.
  ThreadStats* next = nullptr;
  LiveBytes::Share live;
  RecordedCalls recorded;
  /// Counts of rare events. Fields that the member `recorded` counts stay 0 here.
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
