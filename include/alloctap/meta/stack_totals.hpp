/// What each stack has allocated on one thread since the start.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/guard/arena.hpp"
#include "alloctap/guard/recording_gate.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// The cumulative numbers of one stack, or of all.
struct AllocationTotals {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t temporary_allocations = 0;

  constexpr AllocationTotals& operator+=(const AllocationTotals& other) noexcept {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    temporary_allocations += other.temporary_allocations;
    return *this;
  }
};

/// The stacks that one thread has met: one probe by hash gives the id of a stack and its counters,
/// in the same cache line, which no other thread writes. Open addressing, linear probing, at most
/// half full.
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
    /// `kNoStackId` where the entry is free.
    StackId stack = kNoStackId;
    std::uint64_t allocated_bytes = 0;
    std::uint32_t allocations = 0;
    std::uint32_t temporary_allocations = 0;
  };
  static_assert(sizeof(Entry) == 32);

  StackTotals() noexcept { entries_.store(first_.data(), std::memory_order_relaxed); }
  StackTotals(const StackTotals&) = delete;
  StackTotals& operator=(const StackTotals&) = delete;

  /// The entry of the stack with that hash; nullptr where this thread has none. Valid until `add`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Entry* find(const StackHash& hash) noexcept {
    Entry* const entries = entries_.load(std::memory_order_relaxed);
    const std::size_t mask = mask_.load(std::memory_order_relaxed);
    for (std::size_t at = hash.first & mask;; at = (at + 1) & mask) {
      Entry& entry = entries[at];
      if (is_of(entry, hash)) return &entry;
      if (entry.stack == kNoStackId) return nullptr;
    }
  }

  /// The same. If not nullptr, `place` is where this notes what it has found, and looks first:
  /// there may be anything. A stack whose place is known takes one comparison, and none is guessed
  /// wrong.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Entry* find(const StackHash& hash,
                                                   std::uint32_t* place) noexcept {
    Entry* const entries = entries_.load(std::memory_order_relaxed);
    if (place != nullptr) {
      Entry& entry = entries[*place & mask_.load(std::memory_order_relaxed)];
      if (is_of(entry, hash)) [[likely]] {
        return &entry;
      }
    }
    Entry* const found = find(hash);
    if (place != nullptr && found != nullptr) {
      *place = static_cast<std::uint32_t>(found - entries);
    }
    return found;
  }

  /// An entry for `stack`, which has none; nullptr where the system has no memory for it.
  [[nodiscard]] ALLOCTAP_NOINLINE Entry* add(const StackHash& hash, StackId stack) noexcept {
    const std::size_t capacity = mask_.load(std::memory_order_relaxed) + 1;
    // One entry stays free, so that every search ends.
    if ((used_ + 1) * 2 > capacity && !grow(capacity * 2) && used_ + 2 > capacity) {
      return nullptr;
    }
    ++used_;
    Entry& entry = free_place(entries_.load(std::memory_order_relaxed),
                              mask_.load(std::memory_order_relaxed), hash.first);
    entry = {.hash = hash.first, .check = check_of(hash), .stack = stack};
    return &entry;
  }

  /// The entry of `stack`, made if need be; nullptr where the system has no memory for it.
  [[nodiscard]] Entry* find_or_add(const StackHash& hash, StackId stack) noexcept {
    Entry* entry = find(hash);
    return entry != nullptr ? entry : add(hash, stack);
  }

  /// Counts an allocation of `bytes`.
  ALLOCTAP_ALWAYS_INLINE static void count(Entry& entry, std::uint64_t bytes) noexcept {
    entry.allocated_bytes += bytes;
    if (++entry.allocations == kMostAllocations) [[unlikely]] {
      retire(entry);
    }
  }

  /// Counts an allocation that was counted before as a temporary one too.
  static void count_temporary(Entry& entry) noexcept { ++entry.temporary_allocations; }

  /// From now on `find` does not find the stacks for which `is_retired(StackId)`. By others than
  /// its thread behind the closed gate.
  template <class IsRetired>
  void forget_stacks(IsRetired&& is_retired) noexcept {
    Entry* const entries = entries_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i <= mask_.load(std::memory_order_acquire); ++i) {
      if (!is_retired(entries[i].stack)) continue;
      const StackHash nobodys = hash_of_retired(entries[i].stack);
      entries[i].hash = nobodys.first;
      entries[i].check = check_of(nobodys);
    }
  }

  /// Calls `visit(StackId, const AllocationTotals&)`, several times for some stacks.
  template <class Visit>
  void for_each(Visit&& visit) const {
    // In the reverse order of `grow`.
    const std::size_t mask = mask_.load(std::memory_order_acquire);
    const Entry* entries = entries_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i <= mask; ++i) {
      const Entry& entry = entries[i];
      if (entry.stack == kNoStackId) continue;
      visit(entry.stack, AllocationTotals{.allocations = entry.allocations,
                                          .allocated_bytes = entry.allocated_bytes,
                                          .temporary_allocations = entry.temporary_allocations});
    }
  }

 private:
  static constexpr std::size_t kFirstCapacity = 16;
  static constexpr std::uint32_t kMostAllocations = std::numeric_limits<std::uint32_t>::max();

  static bool is_of(const Entry& entry, const StackHash& hash) noexcept {
    return entry.hash == hash.first && entry.check == check_of(hash);
  }

  static std::uint32_t check_of(const StackHash& hash) noexcept {
    return static_cast<std::uint32_t>(hash.second >> 32);
  }

  /// Keeps what was counted under a hash that is nobody's, so that the next allocation of that
  /// stack finds no entry and begins another one.
  ALLOCTAP_NOINLINE static void retire(Entry& entry) noexcept { entry.hash = ~entry.hash; }

  static Entry& free_place(Entry* entries, std::size_t mask, std::uint64_t hash) noexcept {
    std::size_t at = hash & mask;
    while (entries[at].stack != kNoStackId) at = (at + 1) & mask;
    return entries[at];
  }

  bool grow(std::size_t capacity) noexcept {
    void* memory = Arena::allocate_dense(capacity * sizeof(Entry));
    if (memory == nullptr) return false;
    auto* entries = static_cast<Entry*>(memory);
    for (std::size_t i = 0; i < capacity; ++i) ::new (entries + i) Entry;
    const std::size_t old_capacity = mask_.load(std::memory_order_relaxed) + 1;
    Entry* old = entries_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (old[i].stack != kNoStackId) free_place(entries, capacity - 1, old[i].hash) = old[i];
    }
    entries_.store(entries, std::memory_order_release);
    mask_.store(capacity - 1, std::memory_order_release);
    // Behind a closed gate this thread was stopped in here, and somebody may be reading.
    if (old != first_.data() && RecordingGate::is_open()) {
      Arena::deallocate(old, old_capacity * sizeof(Entry));
    }
    return true;
  }

  std::atomic<Entry*> entries_{nullptr};
  std::atomic<std::size_t> mask_{kFirstCapacity - 1};
  std::size_t used_ = 0;
  std::array<Entry, kFirstCapacity> first_{};
};

}  // namespace alloctap
