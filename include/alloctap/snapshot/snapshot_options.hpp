/// What is asked of a snapshot.
#pragma once

#include <cstdint>

namespace alloctap {

/// Whether unreachable blocks are told from others, by a conservative mark: any word that could be
/// a pointer is one.
enum class Reachability : std::uint8_t {
  /// No: whatever is live may be a leak.
  kNotAsked,
  /// From globals, stacks, registers, thread-local storage and what the program mapped itself, on a
  /// copy of the process where the system makes one, and else while its threads stand still. A
  /// block that is found unreachable is one, unless the program hides its pointers (in other bits,
  /// in a file, in another process). A block that is not found may be one all the same: a number or
  /// something that was left over looked like a pointer to it.
  kScan,
};

/// What a snapshot holds beyond sums.
struct SnapshotOptions {
  /// Every live block, in `Snapshot::blocks`: 32 bytes for each, copied while the program waits.
  /// Where a policy samples, the sampled ones.
  bool blocks = false;
  /// What of each stack cannot be reached, in `StackSummary::unreachable`, found a moment before
  /// the snapshot. Where the system copies no process (Windows), the program stands still for as
  /// long as that takes. Fails where a policy samples.
  Reachability reachability = Reachability::kNotAsked;
  /// What each thread gave back of each stack's blocks, in `Snapshot::freed`: 24 bytes for each
  /// pair of them, copied while the program waits. `ownership_matrix` makes sums of it.
  bool freed = false;
};

}  // namespace alloctap
