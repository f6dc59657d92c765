/// Which blocks a program can still get at.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"

namespace alloctap {

/// Of what is live, what cannot be reached. Definitely lost is what no other block points at, and
/// of blocks in a circle, or of circles that lead to each other, one that leads to all: the one at
/// the lowest address. All else is lost because of those, indirectly.
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

/// How a scan went.
struct ScanSummary {
  bool done = false;
  /// Threads that could not be stopped. A block may count as unreachable that only their registers
  /// hold, or that they moved to another place meanwhile.
  std::uint64_t unseen_threads = 0;
  /// Bytes of memory that may hold pointers and could not be read.
  std::uint64_t unread_bytes = 0;
  /// How long threads were stopped for it, in nanoseconds.
  std::int64_t stopped_ns = 0;
  /// How long it all took.
  std::int64_t scan_ns = 0;
};

}  // namespace alloctap
