/// Whether an address lies in executable memory, of a module or not.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap {

/// A cache of memory regions, by the system's description. For code of JIT compilers, which no
/// module tells of. What was asked is trusted for `kPeriodNs`, and the system is asked at most
/// `kMaxReads` times in that: then an address that is not known counts as no code. Belongs to one
/// thread; runs inside malloc. errno may change.
class CodeRegions {
 public:
  static constexpr std::int64_t kPeriodNs = 100'000'000;
  static constexpr std::uint32_t kMaxReads = 16;

  [[nodiscard]] ALLOCTAP_NOINLINE bool contains(std::uintptr_t address) noexcept {
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

 private:
  /// Executable or not, or a gap.
  struct Region {
    os::StackBounds bounds;
    bool executable;
  };

  static Region read(std::uintptr_t address) noexcept {
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

  std::array<Region, kMaxReads> regions_;
  std::uint32_t reads_ = 0;
  std::int64_t period_end_ = 0;
};

}  // namespace alloctap
