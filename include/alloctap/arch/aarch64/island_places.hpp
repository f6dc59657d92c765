/// Where an island may stand, so that b reaches it and the way back is in reach too.
#pragma once

#include <cstdint>

namespace alloctap::arch::aarch64 {

/// Calls `visit(place)` for places within 128 MiB of `start` until it returns true; false if it
/// never does. One in 16 KiB, the nearest first; below the function before above it, where the heap
/// of a program would grow.
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
