/// Per-stack sums of a pool's allocations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena.hpp"

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

}  // namespace alloctap
