/// What changed between two snapshots of one tracker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Numbers after, minus numbers before.
struct HeapChange {
  std::int64_t live_allocations = 0;
  std::int64_t live_bytes = 0;
  /// What was allocated in between, whether it lives or not.
  std::int64_t allocations = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t temporary_allocations = 0;

  constexpr HeapChange& operator+=(const HeapChange& other) noexcept {
    add(live_allocations, other.live_allocations);
    add(live_bytes, other.live_bytes);
    add(allocations, other.allocations);
    add(allocated_bytes, other.allocated_bytes);
    add(temporary_allocations, other.temporary_allocations);
    return *this;
  }
  friend constexpr bool operator==(const HeapChange&, const HeapChange&) noexcept = default;

 private:
  /// Numbers from a damaged file may be any.
  static constexpr void add(std::int64_t& sum, std::int64_t number) noexcept {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                    static_cast<std::uint64_t>(number));
  }
};

/// From `before` to `after`, sums of one stack; a default one where there was none.
[[nodiscard]] constexpr HeapChange change_between(const StackSummary& before,
                                                  const StackSummary& after) noexcept {
  const auto minus = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a - b);
  };
  return {.live_allocations = minus(after.live_allocations, before.live_allocations),
          .live_bytes = minus(after.live_bytes, before.live_bytes),
          .allocations = minus(after.total.allocations, before.total.allocations),
          .allocated_bytes = minus(after.total.allocated_bytes, before.total.allocated_bytes),
          .temporary_allocations =
              minus(after.total.temporary_allocations, before.total.temporary_allocations)};
}

struct StackChange {
  StackId stack = kNoStackId;
  HeapChange change = {};
};

/// Memory from the arena. `table` is the tracker's own and outlives it.
struct SnapshotDiff {
  /// The sum over all stacks.
  HeapChange total;
  /// Those that changed, by StackId.
  ArenaArray<StackChange> stacks;
  const StackTable* table = nullptr;
};

/// What changed from `before` to `after`, two snapshots of one tracker. Control plane; fails where
/// the system has no memory for it.
[[nodiscard]] inline Result<SnapshotDiff> diff(const Snapshot& before, const Snapshot& after) {
  constexpr StackId kEnd = std::numeric_limits<StackId>::max();
  const auto id_at = [](const ArenaArray<StackSummary>& stacks, std::size_t at) {
    return at < stacks.size() ? stacks[at].stack : kEnd;
  };
  constexpr StackSummary kNothing;
  SnapshotDiff result;
  result.table = after.table;
  for (std::size_t b = 0, a = 0; b < before.stacks.size() || a < after.stacks.size();) {
    // Both lists are by StackId.
    const StackId was = id_at(before.stacks, b);
    const StackId is = id_at(after.stacks, a);
    const HeapChange change = change_between(was <= is ? before.stacks[b++] : kNothing,
                                             is <= was ? after.stacks[a++] : kNothing);
    if (change == HeapChange{}) continue;
    result.total += change;
    if (!result.stacks.push_back({std::min(was, is), change})) {
      return Status::resource_exhausted("diff: the system has no memory for it");
    }
  }
  return result;
}

/// Sorts `changes`, elements with a `change`, by what is live: the most grown first, the most
/// shrunk last; where that is equal, the most allocated first.
template <class Change>
void sort_by_growth(ArenaArray<Change>& changes) noexcept {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    const HeapChange& one = a.change;
    const HeapChange& other = b.change;
    return one.live_bytes != other.live_bytes ? one.live_bytes > other.live_bytes
                                              : one.allocated_bytes > other.allocated_bytes;
  });
}

}  // namespace alloctap
