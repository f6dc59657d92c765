/// Cumulative allocation counts.
#pragma once

#include <cstdint>

namespace alloctap {

/// The cumulative counts of one stack, or of all stacks.
struct AllocationTotals {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t temporary_allocations = 0;

  constexpr AllocationTotals& operator+=(const AllocationTotals& other) noexcept {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    temporary_allocations += other.temporary_allocations;
    return *this;
  }
};

}  // namespace alloctap
