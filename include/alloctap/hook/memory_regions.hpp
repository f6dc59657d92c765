/// A copy of the description of the address space.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "alloctap/guard/arena_array.hpp"
#include "alloctap/guard/text_pool.hpp"
#include "alloctap/os/memory_map.hpp"

namespace alloctap {

/// What is mapped, and how, at one moment. Memory from the arena. Move-only.
class MemoryRegions {
 public:
  /// Empty where the description cannot be read or the system has no memory.
  [[nodiscard]] static MemoryRegions read() noexcept {
    MemoryRegions regions;
    ArenaArray<char> buffer;
    if (!buffer.reserve(kBufferBytes)) return regions;
    os::visit_memory_map({buffer.data(), kBufferBytes},
                         [&](const os::MemoryRegion& region) { return regions.add(region); });
    return regions;
  }

  /// The region that holds `address`, or nullptr.
  [[nodiscard]] const os::MemoryRegion* find(std::uintptr_t address) const noexcept {
    const auto* above = std::upper_bound(
        regions_.begin(), regions_.end(), address,
        [](std::uintptr_t value, const os::MemoryRegion& region) { return value < region.end; });
    return above == regions_.end() || address < above->start ? nullptr : above;
  }

  /// Whether all of `[address, address + bytes)` may be read.
  [[nodiscard]] bool is_readable(std::uintptr_t address, std::uint64_t bytes) const noexcept {
    const std::uintptr_t end = address + bytes;
    if (end < address) return false;
    while (address < end) {
      const os::MemoryRegion* region = find(address);
      if (region == nullptr || !region->readable) return false;
      address = region->end;
    }
    return true;
  }

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;

  bool add(os::MemoryRegion region) noexcept {
    const bool is_new = regions_.empty() || regions_.back().path != region.path;
    region.path = is_new ? paths_.keep(region.path) : regions_.back().path;
    return regions_.push_back(region);
  }

  ArenaArray<os::MemoryRegion> regions_;
  TextPool paths_;
};

}  // namespace alloctap
