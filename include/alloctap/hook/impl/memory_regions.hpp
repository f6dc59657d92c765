/// Definitions for hook/memory_regions.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloctap/hook/memory_regions.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

ALLOCTAP_INLINE MemoryRegions MemoryRegions::read() noexcept {
  MemoryRegions regions;
  ArenaArray<char> buffer;
  if (!buffer.reserve(kBufferBytes)) return regions;
  os::visit_memory_map({buffer.data(), kBufferBytes},
                       [&](const os::MemoryRegion& region) { return regions.add(region); });
  return regions;
}

ALLOCTAP_INLINE const os::MemoryRegion* MemoryRegions::find(std::uintptr_t address) const noexcept {
  const auto* above = std::upper_bound(
      regions_.begin(), regions_.end(), address,
      [](std::uintptr_t value, const os::MemoryRegion& region) { return value < region.end; });
  return above == regions_.end() || address < above->start ? nullptr : above;
}

ALLOCTAP_INLINE bool MemoryRegions::is_readable(std::uintptr_t address,
                                                std::uint64_t bytes) const noexcept {
  const std::uintptr_t end = address + bytes;
  if (end < address) return false;
  while (address < end) {
    const os::MemoryRegion* region = find(address);
    if (region == nullptr || !region->readable) return false;
    address = region->end;
  }
  return true;
}

ALLOCTAP_INLINE bool MemoryRegions::add(os::MemoryRegion region) noexcept {
  const bool is_new = regions_.empty() || regions_.back().path != region.path;
  region.path = is_new ? paths_.keep(region.path) : regions_.back().path;
  return regions_.push_back(region);
}

}  // namespace alloctap
