/// Options of a snapshot.
#pragma once

#include <cstdint>

namespace alloctap {

/// Whether to find unreachable blocks by a conservative mark phase, which treats any word that
/// could be a pointer as one.
enum class Reachability : std::uint8_t {
  /// Does not scan: any live block may be a leak.
  kNotAsked,
  /// Marks from globals, stacks, registers, thread-local storage and memory that the program
  /// mapped. Scans a fork of the process if possible; otherwise while its threads are stopped. A
  /// block found unreachable is lost, unless the program hides its pointers (encoded, in files, in
  /// other processes). A lost block may be missed if an integer or a stale pointer matches its
  /// address.
  kScan,
};

/// Optional parts of a snapshot.
struct SnapshotOptions {
  /// Copies all live blocks, or the sampled ones, to `Snapshot::blocks`. Takes 32 bytes per block,
  /// while the world is stopped.
  bool blocks = false;
  /// Sums unreachable blocks per stack in `StackSummary::unreachable`, by a scan just before the
  /// snapshot. On systems that cannot fork (Windows) the world is stopped during the scan. Fails
  /// with a sampling policy.
  Reachability reachability = Reachability::kNotAsked;
  /// Copies the frees per thread and allocating stack to `Snapshot::freed`. Takes 24 bytes per
  /// pair, while the world is stopped. `ownership_matrix` sums them.
  bool freed = false;
};

}  // namespace alloctap
