/// Snapshot of the address space (/proc/self/maps or VirtualQuery).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// List of the regions that were mapped at one moment, with their protection. Its memory is
/// allocated in the tracker's arena. Move-only.
class MemoryRegions {
 public:
  /// Returns an empty list if the memory map cannot be read, or if out of memory.
  [[nodiscard]] static MemoryRegions read() noexcept;

  /// Returns the region that holds `address`, or nullptr.
  [[nodiscard]] const os::MemoryRegion* find(std::uintptr_t address) const noexcept;

  /// Returns true if all of `[address, address + bytes)` is readable.
  [[nodiscard]] bool is_readable(std::uintptr_t address, std::uint64_t bytes) const noexcept;

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;

  bool add(os::MemoryRegion region) noexcept;

  ArenaArray<os::MemoryRegion> regions_;
  TextPool paths_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/impl/memory_regions.hpp"
#endif
