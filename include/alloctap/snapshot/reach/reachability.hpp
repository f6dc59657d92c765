/// The results of a leak scan.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"

namespace alloctap {

/// The unreachable part of the live blocks. Definitely lost blocks are those that no other block
/// points at. Of a cycle, or of cycles that lead to each other, it is the block at the lowest
/// address that leads to all. All other unreachable blocks are indirectly lost.
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

/// Statistics of a scan.
struct ScanSummary {
  bool done = false;
  /// Threads that could not be stopped. Blocks that only their registers hold, or that they were
  /// moving, may count as unreachable.
  std::uint64_t unseen_threads = 0;
  /// Bytes that may hold pointers but could not be read.
  std::uint64_t unread_bytes = 0;
  /// Stop-the-world time in nanoseconds.
  std::int64_t stopped_ns = 0;
  /// Total time in nanoseconds.
  std::int64_t scan_ns = 0;
};

}  // namespace alloctap
