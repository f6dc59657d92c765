/// Snapshot data of the program's memory pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// The allocations of one stack from one pool.
struct PoolStackSummary {
  StackId stack = kNoStackId;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

/// A pool, or successive pools of one name, each created after the previous one was destroyed.
/// Exact: pool blocks are never sampled.
struct PoolSummary {
  /// Cut to `PoolTable::kMaxNameLength`; outlives the snapshot.
  std::string_view name;
  bool destroyed = false;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_live_bytes = 0;
  /// Memory that the pool holds beside its blocks, as reported by the program.
  std::uint64_t overhead_bytes = 0;
  /// The pool's stacks in `PoolsSummary::stacks`.
  std::size_t first_stack = 0;
  std::size_t stack_count = 0;

  [[nodiscard]] std::uint64_t deallocations() const noexcept {
    return allocations - live_allocations;
  }
  [[nodiscard]] std::uint64_t freed_bytes() const noexcept { return allocated_bytes - live_bytes; }
};

/// All pools. Their blocks lie in memory that the tracker already counts, so they are in no other
/// number of a snapshot and are never leaks.
struct PoolsSummary {
  /// Whether the tracker records pools.
  bool known = false;
  /// Ordered by the first use of their names.
  ArenaArray<PoolSummary> pools;
  /// Grouped by pool, then by StackId.
  ArenaArray<PoolStackSummary> stacks;
  /// Frees and reallocations of blocks in no pool. Empty if recording was paused.
  std::optional<std::uint64_t> unknown_frees = 0;
  /// Frees of blocks that belong to another pool; they stay live.
  std::uint64_t wrong_pool_frees = 0;
  /// Live blocks that were allocated again: their frees were not announced.
  std::uint64_t announced_twice = 0;
  /// Calls with a pool that was destroyed or never created.
  std::uint64_t unknown_pools = 0;
  /// Events lost because the tracker was out of memory.
  std::uint64_t dropped = 0;
  /// Pools that could not be created: too many, or out of memory.
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
