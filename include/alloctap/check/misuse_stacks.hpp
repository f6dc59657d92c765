/// The stacks that a fault is told with.
#pragma once

#include "alloctap/check/misuse.hpp"

namespace alloctap {

/// Calls `visit(StackId)` for the stack of the call in which `misuse` was found, and for those that
/// allocated and freed its block, as far as they are known.
template <class Visit>
void for_each_stack(const Misuse& misuse, Visit&& visit) {
  if (!misuse.by_sweep) visit(misuse.found.stack);
  if (!misuse.block.known) return;
  visit(misuse.block.allocated.stack);
  if (misuse.block.freed) visit(misuse.block.gone.stack);
}

}  // namespace alloctap
