/// A tracker that hears what the program says of its pools.
#pragma once

#include "alloctap/annotate.h"
#include "alloctap/meta/pool_annotations.hpp"
#include "alloctap/meta/pool_policy.hpp"
#include "alloctap/record/pool_recorder.hpp"

namespace alloctap {

/// For the slot `Pools`: snapshots and reports have a row for each pool of annotate.h
/// (`alloctap::memory_pool` in C++), with its stacks. Costs nothing where the program has no pools.
struct NamedPools {
  static constexpr bool kHears = true;
  template <class Recorder>
  using For = PoolRecorder<Recorder>;

  static void offer(alloctap_slots& slots) noexcept { slots.pools = &alloctap_pools; }
};

static_assert(PoolPolicy<NamedPools>);

}  // namespace alloctap
