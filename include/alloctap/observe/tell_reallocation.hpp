/// Telling observers that a block went on as another one.
#pragma once

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/error_preserver.hpp"

namespace alloctap {

/// Tells `Observers` of it where `event`, whose block is now kept as `record`, is the second half
/// of a reallocation of a block that was known. Inside malloc.
template <class Observers>
  requires(kObservesReallocations<Observers>)
void tell_reallocation(const AllocationEvent& event, const BlockRecord& record) noexcept {
  if (event.reallocated == nullptr || !event.reallocated->known) return;
  const os::ErrorPreserver preserve_error;
  const DetachedBlock& before = *event.reallocated;
  Observers::on_reallocate(
      {.pointer = before.pointer, .size = before.record.size, .stack = before.record.stack},
      {.pointer = event.pointer, .size = record.size, .stack = record.stack});
}

}  // namespace alloctap
