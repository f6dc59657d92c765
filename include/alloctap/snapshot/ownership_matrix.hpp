/// Which threads free the blocks that other threads allocate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Number and bytes of the blocks that the thread `allocating` allocated and the thread `freeing`,
/// perhaps the same thread, freed. Both are indices into `Snapshot::threads`.
struct OwnershipRow {
  static constexpr std::uint32_t kNotKnown = std::numeric_limits<std::uint32_t>::max();

  /// `kNotKnown` if the allocating stack is unknown, or if the thread came after the 65,535th.
  std::uint32_t allocating = kNotKnown;
  std::uint32_t freeing = kNotKnown;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  /// The allocating stack. Rows of `OwnershipMatrix::threads` have `kNoStackId` here.
  StackId stack = kNoStackId;

  [[nodiscard]] constexpr bool changes_hands() const noexcept { return allocating != freeing; }
};

/// Frees by allocating and freeing thread, sorted by bytes, largest first. Allocated in the arena.
struct OwnershipMatrix {
  /// A row for each pair of allocating and freeing thread.
  ArenaArray<OwnershipRow> threads;
  /// A row for each pair of stack and freeing thread. The stack determines the allocating thread.
  ArenaArray<OwnershipRow> stacks;
  /// False if some frees were not counted because memory ran out.
  bool complete = true;
};

namespace ownership {

/// Returns whether a stack identifies the allocating thread. Returns true if nothing was freed.
[[nodiscard]] inline bool knows_owners(const Snapshot& snapshot) noexcept {
  return snapshot.freed.blocks.empty() ||
         std::any_of(snapshot.threads.begin(), snapshot.threads.end(),
                     [](const ThreadSummary& thread) { return thread.holding.has_value(); });
}

[[nodiscard]] inline Status check(const Snapshot& snapshot) {
  switch (snapshot.freed.knowledge) {
    case FreedKnowledge::kNotAsked:
      return Status::failed_precondition(
          "ownership_matrix: this snapshot was not asked for it; take it with {.freed = true}");
    case FreedKnowledge::kNotKnown:
      return Status::failed_precondition(
          "ownership_matrix: the tracker's queue gives blocks back on threads of its own; use "
          "DirectQueue");
    case FreedKnowledge::kSampled:
      return Status::failed_precondition(
          "ownership_matrix: the tracker samples, and does not count every free by its stack");
    case FreedKnowledge::kAll:
    case FreedKnowledge::kIncomplete:
      break;
  }
  if (knows_owners(snapshot)) return Status();
  return Status::failed_precondition(
      "ownership_matrix: this tracker does not know which thread allocated what; its "
      "Tags must be ThreadOwners or TagsAndThreads");
}

/// Merges rows with equal allocating and freeing threads.
inline void join(ArenaArray<OwnershipRow>& rows) noexcept {
  const auto is_before = [](const OwnershipRow& a, const OwnershipRow& b) {
    return a.allocating != b.allocating ? a.allocating < b.allocating : a.freeing < b.freeing;
  };
  std::sort(rows.begin(), rows.end(), is_before);
  std::size_t kept = 0;
  for (const OwnershipRow& row : rows) {
    if (kept == 0 || is_before(rows[kept - 1], row)) {
      rows[kept++] = row;
    } else {
      rows[kept - 1].blocks += row.blocks;
      rows[kept - 1].bytes += row.bytes;
    }
  }
  static_cast<void>(rows.resize(kept));
}

inline void sort(ArenaArray<OwnershipRow>& rows) noexcept {
  std::sort(rows.begin(), rows.end(), [](const OwnershipRow& a, const OwnershipRow& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    if (a.blocks != b.blocks) return a.blocks > b.blocks;
    return a.stack != b.stack ? a.stack < b.stack : a.freeing < b.freeing;
  });
}

/// Maps thread numbers to indices into `Snapshot::threads`. Returns false if out of memory.
[[nodiscard]] inline bool find_places(const Snapshot& snapshot,
                                      ArenaArray<std::uint32_t>& places) noexcept {
  for (std::size_t i = 0; i < snapshot.threads.size(); ++i) {
    const ThreadNumber number = snapshot.threads[i].number;
    if (number == kNoThread) continue;
    while (places.size() <= number) {
      if (!places.push_back(OwnershipRow::kNotKnown)) return false;
    }
    places[number] = static_cast<std::uint32_t>(i);
  }
  return true;
}

}  // namespace ownership

/// Returns whether the snapshot has the data that `ownership_matrix` requires.
[[nodiscard]] inline bool tells_ownership(const Snapshot& snapshot) noexcept {
  return snapshot.freed.is_available() && ownership::knows_owners(snapshot);
}

/// Sums up frees by allocating and freeing thread. Requires a snapshot taken with
/// `SnapshotOptions::freed` by a tracker whose `Tags` distinguish threads. Fails if the snapshot
/// lacks the data, or if out of memory. Control plane.
///
/// A reallocation counts as a free of the old block by its thread. If a hook missed a free, the
/// thread that got the address next counts as freeing the block. Frees of unknown blocks, such as
/// blocks allocated before the session, are omitted. If a thread reuses the counters of ended
/// threads (`ThreadSummary::threads`), the ended threads and their successor count as one thread.
/// If the successor frees an ended thread's block, allocating and freeing thread are then equal.
[[nodiscard]] inline Result<OwnershipMatrix> ownership_matrix(const Snapshot& snapshot) {
  if (Status status = ownership::check(snapshot); !status.ok()) return status;
  OwnershipMatrix matrix;
  matrix.complete = snapshot.freed.knowledge == FreedKnowledge::kAll;
  ArenaArray<std::uint32_t> places;
  bool has_memory = ownership::find_places(snapshot, places);
  for (const FreesByThread& freed : snapshot.freed.blocks) {
    const ThreadNumber owner = snapshot.table->owner(freed.stack).thread;
    OwnershipRow row{.freeing = freed.thread, .blocks = freed.blocks, .bytes = freed.bytes};
    if (owner < places.size()) row.allocating = places[owner];
    has_memory = matrix.threads.push_back(row) && has_memory;
    row.stack = freed.stack;
    has_memory = matrix.stacks.push_back(row) && has_memory;
  }
  if (!has_memory) {
    return Status::resource_exhausted("ownership_matrix: the system has no memory for it");
  }
  ownership::join(matrix.threads);
  ownership::sort(matrix.threads);
  ownership::sort(matrix.stacks);
  return matrix;
}

}  // namespace alloctap
