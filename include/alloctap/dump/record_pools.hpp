/// The tables "pool ..." of a recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/record_writer.hpp"
#include "alloctap/record/pool_summary.hpp"

namespace alloctap {

/// Calls `visit(key, number)` with a reference to each counter that sums up all pools, for writing
/// or reading. Omits `unknown_frees`, which is optional. `Summary` is `PoolsSummary`, const or not.
template <class Summary, class Visit>
void visit_pool_numbers(Summary& pools, Visit&& visit) {
  visit("wrong_pool_frees", pools.wrong_pool_frees);
  visit("announced_twice", pools.announced_twice);
  visit("unknown_pools", pools.unknown_pools);
  visit("dropped", pools.dropped);
  visit("refused_pools", pools.refused_pools);
}

/// Writes the pool tables, or nothing if the tracker does not observe pools. Column "pool" of "pool
/// stacks" is the index of a row of "pools". `SavedPools` reads the tables.
inline void write_pools(RecordWriter& record, const PoolsSummary& pools) {
  using enum RecordKind;
  if (!pools.known) return;
  record.begin_table("pool numbers", {{kText, "key"}, {kNumber, "value"}});
  visit_pool_numbers(pools,
                     [&](std::string_view key, std::uint64_t value) { record.row(key, value); });
  // The row is missing if `unknown_frees` is unknown.
  if (pools.unknown_frees) record.row(std::string_view("unknown_frees"), *pools.unknown_frees);
  record.end_table();
  record.begin_table("pools", {{kText, "name"},
                               {kNumber, "destroyed"},
                               {kNumber, "allocations"},
                               {kNumber, "allocated_bytes"},
                               {kNumber, "live_allocations"},
                               {kNumber, "live_bytes"},
                               {kNumber, "peak_live_bytes"},
                               {kNumber, "overhead_bytes"}});
  for (const PoolSummary& pool : pools.pools) {
    record.row(pool.name, pool.destroyed, pool.allocations, pool.allocated_bytes,
               pool.live_allocations, pool.live_bytes, pool.peak_live_bytes, pool.overhead_bytes);
  }
  record.end_table();
  record.begin_table("pool stacks", {{kNumber, "pool"},
                                     {kNumber, "stack"},
                                     {kNumber, "allocations"},
                                     {kNumber, "allocated_bytes"},
                                     {kNumber, "live_allocations"},
                                     {kNumber, "live_bytes"}});
  for (std::size_t i = 0; i < pools.pools.size(); ++i) {
    for (const PoolStackSummary& held : pools.stacks_of(pools.pools[i])) {
      record.row(i, held.stack, held.allocations, held.allocated_bytes, held.live_allocations,
                 held.live_bytes);
    }
  }
  record.end_table();
}

}  // namespace alloctap
