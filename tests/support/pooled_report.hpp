/// A small report with pools, for tests of dumps.
#pragma once

#include "tests/support/tagged_report.hpp"

namespace alloctap::testing {

/// An arena whose blocks come from two stacks, one of them Game/Physics', and a pool that ended.
class PooledReport : public TaggedReport {
 public:
  PooledReport() {
    const StackId load = intern({kLoad + 0x11, kMain + 0x31});
    const StackId voices = intern({kMain + 1}, {.tag = physics, .thread = 1});
    PoolsSummary& pools = snapshot.pools;
    pools.known = true;
    static_cast<void>(pools.stacks.push_back({load, 1000, 1 << 20, 0, 0}));
    static_cast<void>(pools.stacks.push_back({voices, 10, 1000, 2, 200}));
    static_cast<void>(pools.stacks.push_back({load, 3, 300, 3, 300}));
    static_cast<void>(pools.pools.push_back({.name = "old level",
                                             .destroyed = true,
                                             .allocations = 1000,
                                             .allocated_bytes = 1 << 20,
                                             .peak_live_bytes = 4096,
                                             .first_stack = 0,
                                             .stack_count = 1}));
    static_cast<void>(pools.pools.push_back({.name = "arena",
                                             .allocations = 13,
                                             .allocated_bytes = 1300,
                                             .live_allocations = 5,
                                             .live_bytes = 500,
                                             .peak_live_bytes = 700,
                                             .overhead_bytes = 8192,
                                             .first_stack = 1,
                                             .stack_count = 2}));
  }
};

}  // namespace alloctap::testing
