/// What the pools of a program hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// What one stack has allocated from one pool, and what of it is live.
struct PoolStackSummary {
  StackId stack = kNoStackId;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

/// A pool, or several of one name of which each was created when the one before was destroyed.
/// Exact: every block is recorded, whatever the tracker samples.
struct PoolSummary {
  /// As the program gave it, cut to `PoolTable::kMaxNameLength`; outlives the snapshot.
  std::string_view name;
  bool destroyed = false;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_live_bytes = 0;
  /// What the pool itself holds beside its blocks, as the program says.
  std::uint64_t overhead_bytes = 0;
  /// Of its stacks in `PoolsSummary::stacks`.
  std::size_t first_stack = 0;
  std::size_t stack_count = 0;

  [[nodiscard]] std::uint64_t deallocations() const noexcept {
    return allocations - live_allocations;
  }
  [[nodiscard]] std::uint64_t freed_bytes() const noexcept { return allocated_bytes - live_bytes; }
};

/// Blocks of pools lie in memory that the tracker knows already: they are in no other number of a
/// snapshot, and no leaks of it.
struct PoolsSummary {
  /// Whether the tracker hears of pools.
  bool known = false;
  /// In the order in which their names came first.
  ArenaArray<PoolSummary> pools;
  /// Those of one pool side by side, by StackId.
  ArenaArray<PoolStackSummary> stacks;
  /// Frees and reallocations of blocks that no pool has. Nothing where there was a pause.
  std::optional<std::uint64_t> unknown_frees = 0;
  /// Those of blocks that another pool has, and keeps.
  std::uint64_t wrong_pool_frees = 0;
  /// Blocks that were announced while they were live: their frees were not announced.
  std::uint64_t announced_twice = 0;
  /// Calls for pools that were destroyed, or never created.
  std::uint64_t unknown_pools = 0;
  /// Events lost because the system had no memory.
  std::uint64_t dropped = 0;
  /// Pools that could not be created: there were too many, or no memory.
  std::uint64_t refused_pools = 0;

  [[nodiscard]] std::span<const PoolStackSummary> stacks_of(
      const PoolSummary& pool) const noexcept {
    return {stacks.begin() + pool.first_stack, pool.stack_count};
  }

  /// The first pool of that name; nullptr if there is none.
  [[nodiscard]] const PoolSummary* find(std::string_view name) const noexcept {
    for (const PoolSummary& pool : pools) {
      if (pool.name == name) return &pool;
    }
    return nullptr;
  }
};

}  // namespace alloctap
