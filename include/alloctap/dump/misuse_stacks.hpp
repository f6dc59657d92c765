/// The stacks that faults are told with.
#pragma once

#include "alloctap/check/misuse_log.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Calls `visit(StackId)` for each stack that faults of `snapshot` are told with.
template <class Visit>
void for_each_misuse_stack(const Snapshot& snapshot, Visit&& visit) {
  for (const CountedMisuse& counted : snapshot.misuses) {
    const Misuse& misuse = counted.first;
    if (!misuse.by_sweep) visit(misuse.found.stack);
    if (!misuse.block.known) continue;
    visit(misuse.block.allocated.stack);
    if (misuse.block.freed) visit(misuse.block.gone.stack);
  }
}

}  // namespace alloctap
