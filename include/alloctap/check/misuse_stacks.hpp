/// The stacks that belong to a fault.
#pragma once

#include "alloctap/check/misuse.hpp"

namespace alloctap {

/// Calls `visit(StackId)` for the detecting call's stack, and for the block's allocation and free
/// stacks if known.
template <class Visit>
void for_each_stack(const Misuse& misuse, Visit&& visit) {
  if (!misuse.by_sweep) visit(misuse.found.stack);
  if (!misuse.block.known) return;
  visit(misuse.block.allocated.stack);
  if (misuse.block.freed) visit(misuse.block.gone.stack);
}

}  // namespace alloctap
