/// The bodies of stack/code_regions.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/stack/code_regions.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool CodeRegions::contains(std::uintptr_t address) noexcept {
  const std::int64_t now = os::coarse_monotonic_ns();
  if (now >= period_end_) {
    period_end_ = now + kPeriodNs;
    reads_ = 0;
  }
  const auto known = regions_.begin() + reads_;
  const auto holds = [=](const Region& region) { return region.bounds.contains(address); };
  auto region = std::find_if(regions_.begin(), known, holds);
  if (region == known) {
    if (reads_ == kMaxReads) return false;
    *region = read(address);
    ++reads_;
  }
  return region->executable;
}

ALLOCTAP_INLINE CodeRegions::Region CodeRegions::read(std::uintptr_t address) noexcept {
  constexpr std::size_t kBufferBytes = 64 * 1024;
  Region region{.bounds = {.low = 0, .high = UINTPTR_MAX}, .executable = false};
  auto* const buffer = static_cast<char*>(os::map_pages(kBufferBytes));
  if (buffer == nullptr) return region;
  os::visit_memory_map({buffer, kBufferBytes}, [&](const os::MemoryRegion& mapped) {
    if (address >= mapped.end) {
      region.bounds.low = mapped.end;
      return true;
    }
    const bool inside = address >= mapped.start;
    region.bounds = inside ? os::StackBounds{mapped.start, mapped.end}
                           : os::StackBounds{region.bounds.low, mapped.start};
    region.executable = inside && mapped.executable;
    return false;
  });
  os::unmap_pages(buffer, kBufferBytes);
  return region;
}

}  // namespace alloctap
