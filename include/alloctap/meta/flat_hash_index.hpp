/// A compact pointer index: sharded hash tables in the arena.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "alloctap/meta/pointer_index.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// A hash table of 16-byte block records with linear probing and backward-shift deletion (Knuth,
/// TAOCP 3, 6.4, algorithm R), so churn never forces growth. At most 4/5 full, unless out of
/// memory. Doubles up to a page, then grows by half in whole pages. Needs 20 to 40 bytes per
/// record; above 64 KiB only 20 to 30.
///
/// Not a library's table, because library tables cannot report out of memory. Tables with a control
/// byte per record would not fit an arena block of a power of two.
///
/// Not thread-safe; runs inside malloc. Constant-initialized, never destroyed.
class FlatHashTable {
 public:
  constexpr FlatHashTable() noexcept = default;
  FlatHashTable(const FlatHashTable&) = delete;
  FlatHashTable& operator=(const FlatHashTable&) = delete;

  InsertOutcome insert(const void* pointer, const BlockRecord& record) noexcept {
    const BlockRecord replaced = take(pointer);
    if (!make_room() || !keep_large(pointer, record)) return {.kept = false, .replaced = replaced};
    ++count_;
    free_slot(slots_, capacity_, pointer) = {pointer, pack(record)};
    return {.kept = true, .replaced = replaced};
  }

  BlockRecord take(const void* pointer) noexcept {
    Slot* slot = find(pointer);
    if (slot == nullptr) return {};
    const BlockRecord record = unpack(*slot);
    if (is_large(record)) forget_large(pointer);
    close_gap(slot);
    --count_;
    return record;
  }

  /// Returns the record at `pointer` without removing it. If there is none, `stack` of the result
  /// is `kNoStackId`.
  [[nodiscard]] BlockRecord look(const void* pointer) const noexcept {
    const Slot* slot = find(pointer);
    return slot == nullptr ? BlockRecord{} : unpack(*slot);
  }

  /// Removes all records and frees the memory.
  void release() noexcept {
    while (large_ != nullptr) Arena::deallocate(std::exchange(large_, large_->next), sizeof(Large));
    if (slots_ != nullptr) deallocate(slots_, capacity_ * sizeof(Slot));
    slots_ = nullptr;
    capacity_ = 0;
    count_ = 0;
  }

  /// Removes all records. Keeps the memory if at least 1/8 of the slots were used.
  void clear() noexcept {
    if (count_ * 8 < capacity_) return release();
    while (large_ != nullptr) Arena::deallocate(std::exchange(large_, large_->next), sizeof(Large));
    for (std::size_t i = 0; i < capacity_; ++i) slots_[i] = {};
    count_ = 0;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (slots_[i].word != 0) visit(slots_[i].pointer, unpack(slots_[i]));
    }
  }

 private:
  /// A slot is empty if `word` is 0. Otherwise `word` is {stack : 32, size : 32}.
  struct Slot {
    const void* pointer = nullptr;
    std::uint64_t word = 0;
  };

  /// The size of a block that does not fit in 32 bits.
  struct Large {
    const void* pointer;
    std::uint64_t size;
    Large* next;
  };

  static constexpr std::size_t kFirstCapacity = 4;
  static constexpr std::uint64_t kSizeElsewhere = 0xFFFFFFFF;

  static bool is_large(const BlockRecord& record) noexcept { return record.size >= kSizeElsewhere; }

  static std::uint64_t pack(const BlockRecord& record) noexcept {
    return std::uint64_t{record.stack} << 32 | (is_large(record) ? kSizeElsewhere : record.size);
  }

  [[nodiscard]] BlockRecord unpack(const Slot& slot) const noexcept {
    BlockRecord record{.stack = static_cast<StackId>(slot.word >> 32),
                       .size = slot.word & 0xFFFFFFFF};
    if (!is_large(record)) return record;
    const Large* large = large_;
    while (large->pointer != slot.pointer) large = large->next;
    record.size = large->size;
    return record;
  }

  /// Returns the first slot to probe by multiplicative hashing (Knuth, TAOCP 3, 6.4).
  static std::size_t place_of(const void* pointer, std::size_t capacity) noexcept {
    const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(pointer) * 0x9E3779B97F4A7C15;
    return (hash >> 32) * capacity >> 32;
  }

  static std::size_t after(std::size_t place, std::size_t capacity) noexcept {
    return place + 1 == capacity ? 0 : place + 1;
  }

  [[nodiscard]] Slot* find(const void* pointer) const noexcept {
    if (count_ == 0) return nullptr;
    for (std::size_t at = place_of(pointer, capacity_);; at = after(at, capacity_)) {
      if (slots_[at].word == 0) return nullptr;
      if (slots_[at].pointer == pointer) return &slots_[at];
    }
  }

  static Slot& free_slot(Slot* slots, std::size_t capacity, const void* pointer) noexcept {
    std::size_t at = place_of(pointer, capacity);
    while (slots[at].word != 0) at = after(at, capacity);
    return slots[at];
  }

  /// Empties `slot` and shifts back later records, so that probing still reaches them.
  void close_gap(Slot* slot) noexcept {
    auto gap = static_cast<std::size_t>(slot - slots_);
    for (std::size_t at = after(gap, capacity_); slots_[at].word != 0; at = after(at, capacity_)) {
      const std::size_t wanted = place_of(slots_[at].pointer, capacity_);
      if (steps(wanted, at) < steps(gap, at)) continue;
      slots_[gap] = slots_[at];
      gap = at;
    }
    slots_[gap] = {};
  }

  [[nodiscard]] std::size_t steps(std::size_t from, std::size_t to) const noexcept {
    return to >= from ? to - from : to + capacity_ - from;
  }

  /// Ensures room for one record. If growing fails, leaves one slot empty, so that searches end.
  bool make_room() noexcept {
    return (count_ + 1) * 5 <= capacity_ * 4 || grow() || count_ + 2 <= capacity_;
  }

  bool grow() noexcept;

  /// Returns the next capacity at which the table exactly fills an arena block or whole pages.
  [[nodiscard]] std::size_t next_capacity() const noexcept {
    const std::size_t slots_per_page = os::page_size() / sizeof(Slot);
    if (capacity_ == 0) return kFirstCapacity;
    if (capacity_ <= slots_per_page) return capacity_ * 2;
    return (capacity_ + capacity_ / 2) / slots_per_page * slots_per_page;
  }

  static void* allocate(std::size_t bytes) noexcept {
    return bytes < os::page_size() ? Arena::allocate(bytes) : Arena::allocate_pages(bytes);
  }
  static void deallocate(void* address, std::size_t bytes) noexcept {
    if (bytes < os::page_size()) return Arena::deallocate(address, bytes);
    Arena::deallocate_pages(address, bytes);
  }

  bool keep_large(const void* pointer, const BlockRecord& record) noexcept;

  void forget_large(const void* pointer) noexcept;

  Slot* slots_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
  Large* large_ = nullptr;
};

/// `FlatHashTable`s sharded by 4 KiB region, so that threads that use different regions rarely
/// contend for a lock. Choose it if memory matters more than time, and blocks are large or sparse:
/// it needs less memory than `ShadowIndex` if there are at least 80 bytes of heap per block. Always
/// slower than `ShadowIndex`; see bench/README.md. Thread-safe; runs inside malloc.
class FlatHashIndex {
 public:
  static constexpr IndexFeatures features{.leaves_errno_alone = true};

  constexpr FlatHashIndex() noexcept = default;

  InsertOutcome insert(const void* pointer, const BlockRecord& record) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    return shard.table.insert(pointer, record);
  }

  BlockRecord take(const void* pointer) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    return shard.table.take(pointer);
  }

  /// Returns the record at `pointer` without removing it. If there is none, `stack` of the result
  /// is `kNoStackId`.
  BlockRecord look(const void* pointer) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    return shard.table.look(pointer);
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Shard& shard : shards_) {
      const std::lock_guard hold(shard.lock);
      shard.table.for_each(visit);
    }
  }

 private:
  struct Shard {
    FutexLock lock;
    FlatHashTable table;
  };

  static constexpr std::size_t kShards = 256;

  Shard& shard_of(const void* pointer) noexcept {
    const std::uint64_t region = reinterpret_cast<std::uintptr_t>(pointer) >> 12;
    return shards_[(region * 0x9E3779B97F4A7C15) >> 56];
  }

  std::array<Shard, kShards> shards_{};
};

static_assert(PointerIndex<FlatHashIndex>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/meta/impl/flat_hash_index.hpp"
#endif
