/// A copy of the description of the address space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// What is mapped, and how, at one moment. Memory from the arena. Move-only.
class MemoryRegions {
 public:
  /// Empty where the description cannot be read or the system has no memory.
  [[nodiscard]] static MemoryRegions read() noexcept;

  /// The region that holds `address`, or nullptr.
  [[nodiscard]] const os::MemoryRegion* find(std::uintptr_t address) const noexcept;

  /// Whether all of `[address, address + bytes)` may be read.
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
