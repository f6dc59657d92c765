/// Leaks in the text report.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Selects the blocks of a stack that a list shows.
enum class ListedBlocks : std::uint8_t { kLive, kDefinite, kIndirect };

/// The number of listed blocks, and their bytes.
struct ListedSum {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
};

[[nodiscard]] constexpr ListedSum count_blocks(const StackSummary& stack,
                                               ListedBlocks listed) noexcept {
  const UnreachableSum& lost = stack.unreachable;
  switch (listed) {
    case ListedBlocks::kDefinite:
      return {lost.definite_allocations, lost.definite_bytes};
    case ListedBlocks::kIndirect:
      return {lost.indirect_allocations, lost.indirect_bytes};
    case ListedBlocks::kLive:
      break;
  }
  return {stack.live_allocations, stack.live_bytes};
}

/// Appends `stacks` that have `listed` blocks, most bytes first. Returns false if out of memory.
[[nodiscard]] inline bool list_stacks(const ArenaArray<const StackSummary*>& stacks,
                                      ListedBlocks listed, ArenaArray<const StackSummary*>& list) {
  for (const StackSummary* stack : stacks) {
    if (count_blocks(*stack, listed).allocations > 0 && !list.push_back(stack)) return false;
  }
  std::sort(list.begin(), list.end(), [listed](const StackSummary* a, const StackSummary* b) {
    const std::uint64_t a_bytes = count_blocks(*a, listed).bytes;
    const std::uint64_t b_bytes = count_blocks(*b, listed).bytes;
    return a_bytes != b_bytes ? a_bytes > b_bytes : a->stack < b->stack;
  });
  return true;
}

/// Writes the results and blind spots of the reachability scan. Writes nothing without a scan.
inline void write_scan(const ScanSummary& scan, const Leaks& leaks, DumpWriter& out) {
  if (!scan.done) return;
  const auto write_sum = [&](std::string_view how, const LiveSum& sum) {
    out << how << human_bytes(sum.live_bytes) << " in " << with_commas(sum.live_allocations)
        << " block" << plural(sum.live_allocations);
  };
  write_sum("           of it out of reach: definitely ", leaks.definite);
  write_sum(", indirectly ", leaks.indirect);
  constexpr std::int64_t kMicrosecond = 1000;
  out << "\n           scanned in "
      << with_commas(static_cast<std::uint64_t>(scan.scan_ns / kMicrosecond))
      << " us, threads stopped for "
      << with_commas(static_cast<std::uint64_t>(scan.stopped_ns / kMicrosecond)) << " us\n";
  if (scan.unseen_threads > 0) {
    out << "           " << with_commas(scan.unseen_threads) << " thread"
        << plural(scan.unseen_threads)
        << " could not be stopped: what only their registers hold counts as leaked\n";
  }
  if (scan.unread_bytes > 0) {
    out << "           " << human_bytes(scan.unread_bytes)
        << " could not be read: what only they point at counts as leaked\n";
  }
}

/// Writes "Leaked     1.2 KiB in 3 blocks of 2 stacks; suppressed 40 KiB in 10 blocks".
inline void write_leak_totals(const Leaks& leaks, DumpWriter& out) {
  const LiveSum& leaked = leaks.leaked;
  out << "Leaked     ";
  if (leaked.stacks == 0) {
    out << "nothing";
  } else {
    out << human_bytes(leaked.live_bytes) << " in " << with_commas(leaked.live_allocations)
        << " block" << plural(leaked.live_allocations) << " of " << with_commas(leaked.stacks)
        << " stack" << plural(leaked.stacks);
  }
  out << "; suppressed " << human_bytes(leaks.suppressed.live_bytes) << " in "
      << with_commas(leaks.suppressed.live_allocations) << " block"
      << plural(leaks.suppressed.live_allocations) << "\n";
}

}  // namespace alloctap
