/// The elements of a timeline and of a peak snapshot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// The heap at one moment.
struct TimelinePoint {
  /// Nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_allocations = 0;
  /// Cumulative: the difference of two points is what was allocated between them.
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  /// The resident set size of the process, in bytes.
  std::uint64_t resident_bytes = 0;
};

/// A moment that the program named.
struct Marker {
  /// Nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
  /// Owned by the snapshot.
  std::string_view name;
};

/// What one stack held at the peak.
struct PeakStackSummary {
  StackId stack = kNoStackId;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

/// A peak snapshot: live bytes by stack when the heap was largest, or within 1 % of it. Arena
/// memory.
struct Peak {
  /// Nanoseconds since the Unix epoch; 0 if no snapshot was taken.
  std::int64_t time_ns = 0;
  /// The sum over `stacks`.
  std::uint64_t live_bytes = 0;
  /// Every stack that held something, by StackId.
  ArenaArray<PeakStackSummary> stacks;

  /// Returns what `stack` held at the peak.
  [[nodiscard]] PeakStackSummary of(StackId stack) const noexcept {
    const PeakStackSummary* found = std::lower_bound(
        stacks.begin(), stacks.end(), stack,
        [](const PeakStackSummary& held, StackId sought) { return held.stack < sought; });
    const bool held_some = found != stacks.end() && found->stack == stack;
    return held_some ? *found : PeakStackSummary{.stack = stack};
  }
};

}  // namespace alloctap
