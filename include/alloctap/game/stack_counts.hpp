/// Per-stack allocation counts of one measurement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/offence_sum.hpp"

namespace alloctap {

/// An open-addressing hash table, in the arena, of sums for at most `kMaxStacks` stacks. Sums of
/// further stacks go to `kNoStackId`. Not thread-safe; may run inside malloc.
class StackCounts {
 public:
  static constexpr std::size_t kMaxStacks = 16'384;

  struct Entry {
    StackId stack = kNoStackId;
    AllocationSums sums;
  };

  constexpr StackCounts() noexcept = default;

  /// Adds `sums` to those of `stack`.
  void add(StackId stack, const AllocationSums& sums) noexcept {
    AllocationSums& known = find_or_add(stack).sums;
    known.allocations += sums.allocations;
    known.bytes += sums.bytes;
    known.frees += sums.frees;
  }

  /// Removes all entries, but keeps the memory.
  void clear() noexcept {
    if (used_ > 0) {
      for (Entry& entry : entries_) entry = {};
    }
    used_ = 0;
    others_ = {};
  }

  /// Calls `visit(const Entry&)` for each stack that has sums.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : entries_) {
      if (entry.stack != kNoStackId) visit(entry);
    }
    if (others_.sums.allocations + others_.sums.frees > 0) visit(others_);
  }

 private:
  static constexpr std::size_t kFirstCapacity = 32;

  Entry& find_or_add(StackId stack) noexcept {
    if (stack == kNoStackId) return others_;
    // Keeps the load factor at most 1/2, so that every probe sequence ends.
    const bool has_room = used_ * 2 < entries_.size() || grow();
    if (entries_.empty()) return others_;
    Entry& entry = place_of(entries_, stack);
    if (entry.stack == stack) return entry;
    if (!has_room) return others_;
    entry.stack = stack;
    ++used_;
    return entry;
  }

  static Entry& place_of(ArenaArray<Entry>& entries, StackId stack) noexcept {
    const std::size_t mask = entries.size() - 1;
    std::size_t at = (stack * std::size_t{0x9E3779B97F4A7C15} >> 32) & mask;
    while (entries[at].stack != kNoStackId && entries[at].stack != stack) at = (at + 1) & mask;
    return entries[at];
  }

  bool grow() noexcept {
    if (used_ >= kMaxStacks) return false;
    ArenaArray<Entry> larger;
    if (!larger.resize(entries_.empty() ? kFirstCapacity : entries_.size() * 2)) return false;
    for (const Entry& entry : entries_) {
      if (entry.stack != kNoStackId) place_of(larger, entry.stack) = entry;
    }
    entries_ = std::move(larger);
    return true;
  }

  ArenaArray<Entry> entries_;
  std::size_t used_ = 0;
  /// Sums of calls without a stack, and of stacks beyond the limit.
  Entry others_;
};

}  // namespace alloctap
