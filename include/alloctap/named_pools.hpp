/// The pool policy that records the pools of annotate.h.
#pragma once

#include "alloctap/annotate.h"
#include "alloctap/meta/pool_policy.hpp"
#include "alloctap/meta/pool_table.hpp"
#include "alloctap/record/pool_recorder.hpp"

namespace alloctap {

/// Policy for the slot `Pools`: snapshots and reports get a row, with stacks, for each pool of
/// annotate.h (`alloctap::memory_pool` in C++). Costs nothing in a program without pools.
struct NamedPools {
  static constexpr bool kHears = true;
  template <class Recorder>
  using For = PoolRecorder<Recorder>;

  static void offer(alloctap_slots& slots) noexcept { slots.pools = &alloctap_pools; }
};

static_assert(PoolPolicy<NamedPools>);

}  // namespace alloctap
