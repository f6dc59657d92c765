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
  /// Cumulative since the start of recording; two points differ by the allocations between them.
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  /// The resident set size of the process, in bytes.
  std::uint64_t resident_bytes = 0;
};

/// A moment marked and named by the program.
struct Marker {
  /// Nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
  /// Owned by the snapshot.
  std::string_view name;
};

/// The live blocks of one stack at the peak.
struct PeakStackSummary {
  StackId stack = kNoStackId;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

/// A peak snapshot: live bytes per stack when the heap was largest, or within 1 % of that size.
/// `stacks` is arena memory.
struct Peak {
  /// Nanoseconds since the Unix epoch; 0 if no snapshot was taken.
  std::int64_t time_ns = 0;
  /// The sum over `stacks`.
  std::uint64_t live_bytes = 0;
  /// The stacks with live blocks at the peak, ordered by StackId.
  ArenaArray<PeakStackSummary> stacks;

  /// Returns the live blocks of `stack` at the peak.
  [[nodiscard]] PeakStackSummary of(StackId stack) const noexcept {
    const PeakStackSummary* found = std::lower_bound(
        stacks.begin(), stacks.end(), stack,
        [](const PeakStackSummary& held, StackId sought) { return held.stack < sought; });
    const bool held_some = found != stacks.end() && found->stack == stack;
    return held_some ? *found : PeakStackSummary{.stack = stack};
  }
};

}  // namespace alloctap
