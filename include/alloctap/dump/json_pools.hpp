/// Pools in schema alloctap.heap/1.
#pragma once

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/record/pool_summary.hpp"

namespace alloctap {

/// Writes the value of "pools", or null if the tracker does not observe pools.
/// `write_stack(StackId)` writes the members that identify a stack.
template <class WriteStack>
void write_pools(JsonBuilder& json, const PoolsSummary& pools, WriteStack&& write_stack) {
  if (!pools.known) return json.null();
  const auto write_sums = [&json](const auto& sums) {
    json.number("allocations", sums.allocations);
    json.number("allocated_bytes", sums.allocated_bytes);
    json.number("live_allocations", sums.live_allocations);
    json.number("live_bytes", sums.live_bytes);
  };
  json.begin_object();
  json.key("unknown_frees");
  json.value_or_null(pools.unknown_frees);
  json.number("wrong_pool_frees", pools.wrong_pool_frees);
  json.number("announced_twice", pools.announced_twice);
  json.number("unknown_pools", pools.unknown_pools);
  json.number("dropped", pools.dropped);
  json.number("refused_pools", pools.refused_pools);
  json.key("pools");
  json.begin_array();
  for (const PoolSummary& pool : pools.pools) {
    json.begin_object();
    json.text("name", pool.name);
    json.key("destroyed");
    json.value(pool.destroyed);
    write_sums(pool);
    json.number("peak_live_bytes", pool.peak_live_bytes);
    json.number("overhead_bytes", pool.overhead_bytes);
    json.key("stacks");
    json.begin_array();
    for (const PoolStackSummary& held : pools.stacks_of(pool)) {
      json.begin_object();
      write_stack(held.stack);
      write_sums(held);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace alloctap
