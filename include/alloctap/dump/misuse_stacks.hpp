/// The stacks that misuses in a snapshot refer to.
#pragma once

#include "alloctap/check/misuse_log.hpp"
#include "alloctap/check/misuse_stacks.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Calls `visit(StackId)` for each stack that a misuse of `snapshot` refers to.
template <class Visit>
void for_each_misuse_stack(const Snapshot& snapshot, Visit&& visit) {
  for (const CountedMisuse& counted : snapshot.misuses) for_each_stack(counted.first, visit);
}

}  // namespace alloctap
