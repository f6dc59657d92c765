/// The records of blocks in memory pools, and sums per pool and per stack.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/pool_table.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// The sums of one stack or of a whole pool. Bytes saturate at UINT64_MAX, because programs may
/// announce any size. After saturation `live_bytes` is exact again once no block is live.
struct PoolSums {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;

  void add(std::uint64_t bytes) noexcept {
    ++allocations;
    allocated_bytes = saturated_sum(allocated_bytes, bytes);
    ++live_allocations;
    live_bytes = saturated_sum(live_bytes, bytes);
  }
  void remove(std::uint64_t bytes) noexcept {
    --live_allocations;
    live_bytes = live_allocations == 0 ? 0 : live_bytes - std::min(live_bytes, bytes);
  }
  void end_all() noexcept { live_allocations = live_bytes = 0; }

  /// Returns whether a sum of bytes saturated, so that the live bytes may be too low.
  [[nodiscard]] bool is_saturated() const noexcept { return allocated_bytes == kMaxBytes; }

 private:
  static constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::uint64_t>::max();

  static std::uint64_t saturated_sum(std::uint64_t sum, std::uint64_t bytes) noexcept {
    return bytes > kMaxBytes - sum ? kMaxBytes : sum + bytes;
  }
};

/// Sums by stack: a hash table with linear probing, at most 4/5 full. Never shrinks. Its slots are
/// arena memory. Not thread-safe; runs inside malloc. Zero-initialized, never destroyed.
class PoolStacks {
 public:
  constexpr PoolStacks() noexcept = default;
  PoolStacks(const PoolStacks&) = delete;
  PoolStacks& operator=(const PoolStacks&) = delete;

  /// Returns the sums of `stack`, added if needed; nullptr if out of memory.
  [[nodiscard]] PoolSums* find_or_add(StackId stack) noexcept {
    if (Entry* known = find_entry(stack); known != nullptr) return &known->sums;
    if ((count_ + 1) * 5 > capacity_ * 4 && !grow()) return nullptr;
    ++count_;
    Entry& added = free_entry(entries_, capacity_, stack);
    added.stack = stack;
    return &added.sums;
  }

  /// Returns the sums of `stack`; nullptr if it has no sums.
  [[nodiscard]] PoolSums* find(StackId stack) noexcept {
    Entry* const known = find_entry(stack);
    return known == nullptr ? nullptr : &known->sums;
  }
  [[nodiscard]] const PoolSums* find(StackId stack) const noexcept {
    const Entry* const known = find_entry(stack);
    return known == nullptr ? nullptr : &known->sums;
  }

  void end_all() noexcept {
    for (std::size_t i = 0; i < capacity_; ++i) entries_[i].sums.end_all();
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Calls `visit(StackId, const PoolSums&)` for each stack, unordered.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (entries_[i].stack != kNoStackId) visit(entries_[i].stack, entries_[i].sums);
    }
  }

 private:
  struct Entry {
    StackId stack = kNoStackId;
    PoolSums sums;
  };

  static constexpr std::size_t kFirstCapacity = 4;

  /// Returns the first slot to probe. `capacity` is a power of two.
  static std::size_t place_of(StackId stack, std::size_t capacity) noexcept {
    return (stack * std::uint64_t{0x9E3779B97F4A7C15} >> 32) & (capacity - 1);
  }

  [[nodiscard]] Entry* find_entry(StackId stack) const noexcept {
    if (capacity_ == 0) return nullptr;
    for (std::size_t at = place_of(stack, capacity_);; at = (at + 1) & (capacity_ - 1)) {
      if (entries_[at].stack == stack) return &entries_[at];
      if (entries_[at].stack == kNoStackId) return nullptr;
    }
  }

  static Entry& free_entry(Entry* entries, std::size_t capacity, StackId stack) noexcept {
    std::size_t at = place_of(stack, capacity);
    while (entries[at].stack != kNoStackId) at = (at + 1) & (capacity - 1);
    return entries[at];
  }

  bool grow() noexcept {
    const std::size_t capacity = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
    auto* const entries = static_cast<Entry*>(Arena::allocate(capacity * sizeof(Entry)));
    if (entries == nullptr) return false;
    for (std::size_t i = 0; i < capacity; ++i) ::new (entries + i) Entry;
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (entries_[i].stack == kNoStackId) continue;
      free_entry(entries, capacity, entries_[i].stack) = entries_[i];
    }
    if (entries_ != nullptr) Arena::deallocate(entries_, capacity_ * sizeof(Entry));
    entries_ = entries;
    capacity_ = capacity;
    return true;
  }

  Entry* entries_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
};

/// The records and the sums of one pool. Each pool has its own index, because the first block of a
/// pool may have the address of the block that encloses the pool. Not thread-safe.
class PoolBook {
 public:
  struct Added {
    /// False if memory ran out for the block or for the sums of its stack.
    bool kept = true;
    /// Whether a live block had the same address. The record of that block was removed.
    bool replaced = false;
  };

  /// Prepares for the pool of `generation`; removes the blocks of an earlier pool in the slot.
  void enter(std::uint32_t generation) noexcept {
    if (generation_ != generation) end_all();
    generation_ = generation;
  }
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }

  Added add(const void* pointer, const BlockRecord& record) noexcept {
    const InsertOutcome outcome = index_.insert(pointer, record);
    Added added{.kept = outcome.kept, .replaced = outcome.replaced.stack != kNoStackId};
    if (added.replaced) remove(outcome.replaced);
    if (!outcome.kept) return added;
    sums_.add(record.size);
    peak_live_bytes_ = std::max(peak_live_bytes_, sums_.live_bytes);
    PoolSums* const of_stack = stacks_.find_or_add(record.stack);
    if (of_stack != nullptr) of_stack->add(record.size);
    added.kept = of_stack != nullptr;
    return added;
  }

  /// Removes a block. Returns false if the block is unknown.
  [[nodiscard]] bool remove(const void* pointer) noexcept {
    const BlockRecord record = index_.take(pointer);
    if (record.stack == kNoStackId) return false;
    remove(record);
    return true;
  }

  [[nodiscard]] bool contains(const void* pointer) const noexcept {
    return index_.look(pointer).stack != kNoStackId;
  }

  void end_all() noexcept {
    if (sums_.live_allocations == 0) return;
    index_.clear();
    stacks_.end_all();
    sums_.end_all();
  }

  [[nodiscard]] const PoolSums& sums() const noexcept { return sums_; }
  [[nodiscard]] std::uint64_t peak_live_bytes() const noexcept { return peak_live_bytes_; }
  [[nodiscard]] const PoolStacks& stacks() const noexcept { return stacks_; }

 private:
  void remove(const BlockRecord& record) noexcept {
    sums_.remove(record.size);
    PoolSums* const of_stack = stacks_.find(record.stack);
    // The sums of a stack lack blocks that were added while memory for the sums ran out.
    if (of_stack != nullptr && of_stack->live_allocations > 0 &&
        (of_stack->live_bytes >= record.size || of_stack->is_saturated())) {
      of_stack->remove(record.size);
    }
  }

  FlatHashTable index_;
  PoolStacks stacks_;
  PoolSums sums_;
  std::uint64_t peak_live_bytes_ = 0;
  std::uint32_t generation_ = 0;
};

/// Counts of incorrect uses of pools.
struct PoolFaults {
  /// Frees and reallocations of blocks in no pool: freed twice, or allocated before the session.
  std::uint64_t unknown_frees = 0;
  /// Frees and reallocations that named a pool other than the block's. The block stays live.
  std::uint64_t wrong_pool_frees = 0;
  /// Live blocks that were allocated again, because the program did not announce their frees.
  std::uint64_t announced_twice = 0;
  /// Calls that passed the handle of a pool that was destroyed or never created.
  std::uint64_t unknown_pools = 0;
  /// Events not recorded, or not in the sums of their stack, because memory ran out.
  std::uint64_t dropped = 0;
};

/// A `PoolBook` with a lock for each pool of `kTable`. Threads that contend for the lock also
/// contend for the program's pool. Callers are in a recording scope, so at a fork the locks are
/// free. Records are arena memory. Constant-initialized, never destroyed.
template <const PoolTable& kTable>
class PoolBooks {
 public:
  constexpr PoolBooks() noexcept = default;
  PoolBooks(const PoolBooks&) = delete;
  PoolBooks& operator=(const PoolBooks&) = delete;

  void allocate(PoolHandle pool, const void* pointer, const BlockRecord& record) noexcept {
    LockedBook& book = books_[pool.slot()];
    const std::lock_guard hold(book.lock);
    if (!enter(book, pool)) return;
    const PoolBook::Added added = book.book.add(pointer, record);
    if (added.replaced) count(announced_twice_);
    if (!added.kept) count(dropped_);
  }

  void free(PoolHandle pool, const void* pointer) noexcept {
    LockedBook& book = books_[pool.slot()];
    {
      const std::lock_guard hold(book.lock);
      if (!enter(book, pool) || book.book.remove(pointer)) return;
    }
    count(is_in_other_pool(pool, pointer) ? wrong_pool_frees_ : unknown_frees_);
  }

  /// Removes all blocks of a pool, which may already be destroyed.
  void reset(PoolHandle pool) noexcept {
    LockedBook& book = books_[pool.slot()];
    const std::lock_guard hold(book.lock);
    if (book.book.generation() == pool.generation()) book.book.end_all();
  }

  void note_unknown_pool() noexcept { count(unknown_pools_); }
  void note_dropped() noexcept { count(dropped_); }

  [[nodiscard]] PoolFaults faults() const noexcept {
    return {.unknown_frees = unknown_frees_.load(std::memory_order_relaxed),
            .wrong_pool_frees = wrong_pool_frees_.load(std::memory_order_relaxed),
            .announced_twice = announced_twice_.load(std::memory_order_relaxed),
            .unknown_pools = unknown_pools_.load(std::memory_order_relaxed),
            .dropped = dropped_.load(std::memory_order_relaxed)};
  }

  /// Returns the records of a slot. The caller has stopped the world or is the only thread.
  [[nodiscard]] const PoolBook& book(std::uint32_t slot) const noexcept {
    return books_[slot].book;
  }

 private:
  struct LockedBook {
    FutexLock lock;
    PoolBook book;
  };

  static void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.fetch_add(1, std::memory_order_relaxed);
  }

  /// Prepares `book`, which is locked. If the pool was destroyed, counts a call for an unknown pool
  /// and returns false. If the pool is destroyed while the lock is held, a call of `reset` follows.
  [[nodiscard]] bool enter(LockedBook& book, PoolHandle pool) noexcept {
    if (!kTable.is_alive(pool)) {
      note_unknown_pool();
      return false;
    }
    book.book.enter(pool.generation());
    return true;
  }

  /// Locks the other pools one at a time. The caller must hold no lock of a pool.
  [[nodiscard]] ALLOCTAP_NOINLINE bool is_in_other_pool(PoolHandle pool,
                                                        const void* pointer) noexcept {
    for (std::uint32_t slot = 1; slot < kTable.end_slot(); ++slot) {
      if (slot == pool.slot()) continue;
      const std::lock_guard hold(books_[slot].lock);
      if (books_[slot].book.contains(pointer)) return true;
    }
    return false;
  }

  ZeroedArray<LockedBook, PoolTable::kMaxPools + 1> books_;
  std::atomic<std::uint64_t> unknown_frees_{0};
  std::atomic<std::uint64_t> wrong_pool_frees_{0};
  std::atomic<std::uint64_t> announced_twice_{0};
  std::atomic<std::uint64_t> unknown_pools_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace alloctap
