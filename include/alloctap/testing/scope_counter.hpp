/// The default allocation counter of baselines.
#pragma once

#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/counted_stack.hpp"

namespace alloctap::testing {

/// Counts the allocations of the calling thread per stack while `work()` runs. Uses the stack ids
/// of the tracker that has the observer `AllocationScopes`; fails if no such tracker has a session.
/// Passes exceptions of `work` on. Control plane.
struct ScopeCounter {
  template <class Work>
  [[nodiscard]] Result<ArenaArray<CountedStack>> operator()(Work& work) const {
    const AllocationScope scope;
    work();
    if (!scope.counts()) {
      return Status::failed_precondition(
          "nothing counts: no tracker with AllocationScopes among its Observers has a session");
    }
    ArenaArray<CountedStack> counts;
    bool complete = true;
    scope.for_each_stack([&](StackId stack, const AllocationSums& sums) {
      if (sums.allocations == 0) return;
      complete =
          complete &&
          counts.push_back({.stack = stack, .allocations = sums.allocations, .bytes = sums.bytes});
    });
    if (complete) return counts;
    return Status::resource_exhausted("counter: the system has no memory for its stacks");
  }
};

}  // namespace alloctap::testing
