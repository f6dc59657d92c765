/// Candidate island addresses within a branch's reach of a function.
#pragma once

#include <cstdint>

namespace alloctap::arch::aarch64 {

/// Calls `visit(place)` for addresses within 128 MiB of `start` until `visit` returns true. Returns
/// false if `visit` never does. Visits one address per 16 KiB, nearest first. Addresses below the
/// function come first, because the heap may grow above it.
template <class Visit>
bool visit_island_places(std::uintptr_t start, Visit&& visit) noexcept {
  constexpr std::uintptr_t kStep = std::uintptr_t{1} << 14;
  constexpr std::uintptr_t kReach = std::uintptr_t{1} << 27;
  const std::uintptr_t base = start & ~(kStep - 1);
  for (std::uintptr_t distance = kStep; distance < kReach && distance < base; distance += kStep) {
    if (visit(base - distance)) return true;
  }
  for (std::uintptr_t distance = kStep; distance < kReach; distance += kStep) {
    if (visit(base + distance)) return true;
  }
  return false;
}

}  // namespace alloctap::arch::aarch64
