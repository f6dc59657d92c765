/// Plain data that a recorder gives to a snapshot: totals, timeline points, peak, pools.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// The cumulative counts of one stack, or of all stacks.
struct AllocationTotals {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t temporary_allocations = 0;

  constexpr AllocationTotals& operator+=(const AllocationTotals& other) noexcept {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    temporary_allocations += other.temporary_allocations;
    return *this;
  }
};

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

/// The allocations of one stack from one pool.
struct PoolStackSummary {
  StackId stack = kNoStackId;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

/// A pool, or several successive pools with one name, each created after the previous one was
/// destroyed. Counts are exact, because pool blocks are never sampled.
struct PoolSummary {
  /// At most `PoolTable::kMaxNameLength` bytes; longer names are cut. Outlives the snapshot.
  std::string_view name;
  bool destroyed = false;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_live_bytes = 0;
  /// The memory in bytes that the pool uses besides its blocks, as reported by the program.
  std::uint64_t overhead_bytes = 0;
  /// The range of the pool's stacks in `PoolsSummary::stacks`.
  std::size_t first_stack = 0;
  std::size_t stack_count = 0;

  [[nodiscard]] std::uint64_t deallocations() const noexcept {
    return allocations - live_allocations;
  }
  [[nodiscard]] std::uint64_t freed_bytes() const noexcept { return allocated_bytes - live_bytes; }
};

/// All pools. Pool blocks lie inside memory that the tracker already counts. So they are excluded
/// from all other numbers of a snapshot, and are never leaks.
struct PoolsSummary {
  /// Whether the tracker records pools.
  bool known = false;
  /// The pools, in the order of the first use of their names.
  ArenaArray<PoolSummary> pools;
  /// The stacks of all pools, ordered by pool, then by StackId.
  ArenaArray<PoolStackSummary> stacks;
  /// Frees and reallocations of blocks that are in no pool; nullopt if recording was paused.
  std::optional<std::uint64_t> unknown_frees = 0;
  /// Frees and reallocations that named a pool other than the block's. The block stays live.
  std::uint64_t wrong_pool_frees = 0;
  /// Allocations at the address of a live pool block, whose free the program did not report.
  std::uint64_t announced_twice = 0;
  /// Calls that passed the handle of a pool that was destroyed or never created.
  std::uint64_t unknown_pools = 0;
  /// Pool events lost because the tracker was out of memory.
  std::uint64_t dropped = 0;
  /// Pools that could not be created because there were too many or memory ran out.
  std::uint64_t refused_pools = 0;

  [[nodiscard]] std::span<const PoolStackSummary> stacks_of(
      const PoolSummary& pool) const noexcept {
    return {stacks.begin() + pool.first_stack, pool.stack_count};
  }

  /// Returns the first pool with that name; nullptr if none exists.
  [[nodiscard]] const PoolSummary* find(std::string_view name) const noexcept {
    for (const PoolSummary& pool : pools) {
      if (pool.name == name) return &pool;
    }
    return nullptr;
  }
};

}  // namespace alloctap
