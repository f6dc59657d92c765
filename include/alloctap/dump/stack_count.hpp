/// Access to one number of a stack, for formats with one weight per stack.
#pragma once

#include <cstdint>

#include "alloctap/dump/dumps.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Returns the number of `stack` that `count` selects.
[[nodiscard]] constexpr std::uint64_t count_of(const StackSummary& stack,
                                               StackCount count) noexcept {
  switch (count) {
    case StackCount::kLiveBytes:
      return stack.live_bytes;
    case StackCount::kLiveAllocations:
      return stack.live_allocations;
    case StackCount::kAllocatedBytes:
      return stack.total.allocated_bytes;
    case StackCount::kAllocations:
      return stack.total.allocations;
    case StackCount::kTemporaryAllocations:
      return stack.total.temporary_allocations;
  }
  return 0;
}

}  // namespace alloctap
