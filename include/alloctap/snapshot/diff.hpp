/// The difference of two snapshots of one tracker.
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

/// Differences of sums: the value after minus the value before.
struct HeapChange {
  std::int64_t live_allocations = 0;
  std::int64_t live_bytes = 0;
  /// Allocations between the snapshots, whether still live or freed.
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
  /// Adds with wrap-around, because numbers from a damaged file may overflow.
  static constexpr void add(std::int64_t& sum, std::int64_t number) noexcept {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                    static_cast<std::uint64_t>(number));
  }
};

/// Returns the change of one stack's sums. Pass `StackSummary()` if a snapshot lacks the stack.
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

/// Per-stack difference of two snapshots. Its arrays are allocated in the arena. Must not outlive
/// `table`, which the tracker owns.
struct SnapshotDiff {
  /// The change of the sums over all stacks.
  HeapChange total;
  /// The stacks whose sums changed, sorted by StackId.
  ArenaArray<StackChange> stacks;
  const StackTable* table = nullptr;
};

/// Returns the change from `before` to `after`, which must be snapshots of one tracker. Control
/// plane; fails if out of memory.
[[nodiscard]] inline Result<SnapshotDiff> diff(const Snapshot& before, const Snapshot& after) {
  constexpr StackId kEnd = std::numeric_limits<StackId>::max();
  const auto id_at = [](const ArenaArray<StackSummary>& stacks, std::size_t at) {
    return at < stacks.size() ? stacks[at].stack : kEnd;
  };
  constexpr StackSummary kNothing;
  SnapshotDiff result;
  result.table = after.table;
  for (std::size_t b = 0, a = 0; b < before.stacks.size() || a < after.stacks.size();) {
    // Merges two lists sorted by StackId.
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

/// Sorts by growth of live bytes (`change`), largest first. Breaks ties by allocated bytes.
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
