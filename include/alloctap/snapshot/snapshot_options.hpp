/// Options of a snapshot.
#pragma once

#include <cstdint>

namespace alloctap {

/// Whether to find unreachable blocks by a conservative mark phase. Conservative means that any
/// word that equals an address in a block counts as a pointer.
enum class Reachability : std::uint8_t {
  /// Does not scan. Any live block may be a leak.
  kNotAsked,
  /// Marks from globals, stacks, registers, thread-local storage and memory that the program
  /// mapped. Scans a fork of the process; if the system cannot fork, scans while all threads are
  /// stopped. A block found unreachable is lost, unless the program hides its pointers (encoded, in
  /// files, in other processes). A lost block is missed if an integer or stale pointer matches.
  kScan,
};

/// Optional parts of a snapshot.
struct SnapshotOptions {
  /// Copies all live blocks (or the live sampled blocks) to `Snapshot::blocks`. The copy needs 32
  /// bytes per block and is made while the world is stopped.
  bool blocks = false;
  /// Whether to scan just before the snapshot and sum unreachable blocks per stack in
  /// `StackSummary::unreachable`. On systems that cannot fork (Windows), the world is stopped
  /// during the scan. Fails with a sampling policy.
  Reachability reachability = Reachability::kNotAsked;
  /// Copies the frees to `Snapshot::freed`, for `ownership_matrix`. The copy needs 24 bytes for
  /// each pair of freeing thread and allocating stack, and is made while the world is stopped.
  bool freed = false;
};

}  // namespace alloctap
