/// Pools read from a recording.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "alloctap/dump/record_pools.hpp"
#include "alloctap/dump/record_reader.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/record/pool_summary.hpp"

namespace alloctap {

/// Reader of a recording's pool tables. Uses arena memory. Not thread-safe.
class SavedPools {
 public:
  SavedPools() noexcept { pools_.unknown_frees.reset(); }

  [[nodiscard]] static bool knows(std::string_view table) noexcept {
    return table == "pool numbers" || table == "pools" || table == "pool stacks";
  }

  /// Adds a row of a pool table. `stack` is the stack in the row's column "stack". Returns false
  /// without adding anything if the row is invalid.
  [[nodiscard]] bool read(const RecordReader& row, StackId stack) {
    pools_.known = true;
    if (row.table() == "pools") return add_pool(row);
    if (row.table() == "pool stacks") return add_stack(row, stack);
    add_number(row);
    return true;
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the pools that were read. Call it once.
  [[nodiscard]] PoolsSummary take() noexcept { return std::move(pools_); }

 private:
  void add_number(const RecordReader& row) {
    const std::uint64_t value = row.number("value");
    if (row.text("key") == "unknown_frees") pools_.unknown_frees = value;
    visit_pool_numbers(pools_, [&](std::string_view key, std::uint64_t& number) {
      if (key == row.text("key")) number = value;
    });
  }

  bool add_pool(const RecordReader& row) {
    const PoolSummary pool{.name = row.text("name"),
                           .destroyed = row.number("destroyed") != 0,
                           .allocations = row.number("allocations"),
                           .allocated_bytes = row.number("allocated_bytes"),
                           .live_allocations = row.number("live_allocations"),
                           .live_bytes = row.number("live_bytes"),
                           .peak_live_bytes = row.number("peak_live_bytes"),
                           .overhead_bytes = row.number("overhead_bytes")};
    if (pool.live_allocations > pool.allocations || pool.live_bytes > pool.allocated_bytes) {
      return false;
    }
    complete_ = pools_.pools.push_back(pool) && complete_;
    return true;
  }

  /// Adds a stack of a pool. Rows must be grouped by pool.
  bool add_stack(const RecordReader& row, StackId stack) {
    const std::uint64_t number = row.number("pool");
    if (number >= pools_.pools.size() || number < last_pool_) return false;
    last_pool_ = number;
    PoolSummary& pool = pools_.pools[number];
    if (pool.stack_count == 0) pool.first_stack = pools_.stacks.size();
    if (!pools_.stacks.push_back({stack, row.number("allocations"), row.number("allocated_bytes"),
                                  row.number("live_allocations"), row.number("live_bytes")})) {
      complete_ = false;
      return true;
    }
    ++pool.stack_count;
    return true;
  }

  PoolsSummary pools_;
  std::uint64_t last_pool_ = 0;
  bool complete_ = true;
};

}  // namespace alloctap
