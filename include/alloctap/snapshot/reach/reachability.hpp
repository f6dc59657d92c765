/// The results of a leak scan.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"

namespace alloctap {

/// The unreachable part of the live blocks. A block is definitely lost if no other unreachable
/// block points at it. If no other unreachable block points at a cycle, the block of the cycle at
/// the lowest address is definitely lost. All other unreachable blocks are indirectly lost.
struct UnreachableSum {
  std::uint64_t definite_allocations = 0;
  std::uint64_t definite_bytes = 0;
  std::uint64_t indirect_allocations = 0;
  std::uint64_t indirect_bytes = 0;

  [[nodiscard]] constexpr std::uint64_t allocations() const noexcept {
    return definite_allocations + indirect_allocations;
  }
  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
    return definite_bytes + indirect_bytes;
  }
  constexpr void operator+=(const UnreachableSum& other) noexcept {
    definite_allocations += other.definite_allocations;
    definite_bytes += other.definite_bytes;
    indirect_allocations += other.indirect_allocations;
    indirect_bytes += other.indirect_bytes;
  }
};

/// Statistics of a leak scan.
struct ScanSummary {
  bool done = false;
  /// Number of threads that could not be stopped. Blocks may be reported as unreachable if only
  /// such a thread's registers hold the pointers, or if it was reallocating the blocks.
  std::uint64_t unseen_threads = 0;
  /// Number of bytes that may hold pointers but could not be read.
  std::uint64_t unread_bytes = 0;
  /// Time for which the world was stopped, in nanoseconds.
  std::int64_t stopped_ns = 0;
  /// Duration of the whole scan, in nanoseconds.
  std::int64_t scan_ns = 0;
};

}  // namespace alloctap
