/// The stacks that belong to a fault.
#pragma once

#include "alloctap/check/misuse.hpp"

namespace alloctap {

/// Calls `visit(StackId)` for the stack of the detecting call. Then visits the stacks of the
/// block's allocation and free, if they are known.
template <class Visit>
void for_each_stack(const Misuse& misuse, Visit&& visit) {
  if (!misuse.by_sweep) visit(misuse.found.stack);
  if (!misuse.block.known) return;
  visit(misuse.block.allocated.stack);
  if (misuse.block.freed) visit(misuse.block.gone.stack);
}

}  // namespace alloctap
