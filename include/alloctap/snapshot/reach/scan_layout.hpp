/// The address space in the view of a leak scan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/reach/address_ranges.hpp"
#include "alloctap/snapshot/reach/block_index.hpp"

namespace alloctap {

/// A mapped address range.
struct ScanRegion {
  AddressRange range;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  /// Whether the mapping has no file.
  bool anonymous = false;
  /// Whether the mapping is private memory without access rights, which the program may make
  /// accessible again. False for large ranges, which only reserve address space.
  bool is_protected = false;
  /// Whether the mapping is the stack of the main thread.
  bool main_stack = false;
  /// Whether the module's file declares the region writable; nullopt if unknown.
  std::optional<bool> for_writing = {};

  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    return address >= range.start && address < range.end;
  }

  [[nodiscard]] static ScanRegion of(const os::MemoryRegion& region) noexcept {
    constexpr std::size_t kMaxProtected = std::size_t{1} << 30;
    const std::string_view path = region.path;
    const bool is_protected = os::kCopiesProtectedMemory && !region.readable && !region.shared &&
                              (path.empty() || path == "[heap]") &&
                              region.end - region.start <= kMaxProtected;
    return {.range = {region.start, region.end},
            .readable = region.readable && !path.starts_with("[v"),
            .writable = region.writable,
            .executable = region.executable,
            .shared = region.shared,
            .anonymous = path.empty() || path.front() == '[',
            .is_protected = is_protected,
            .main_stack = path == "[stack]"};
  }
};

/// The input of `ScanRoots`. Fill all members, then call `settle` for each set.
struct ScanLayout {
  /// All mapped regions in order of address.
  ArenaArray<ScanRegion> regions;
  /// The address range of each module.
  AddressRanges modules;
  /// Memory known to be the program's: mapped by the program, or allocated before tracking began.
  AddressRanges programs;
  /// Memory that is excluded from the roots, regardless of its content.
  AddressRanges left_out;
  std::span<const os::ThreadRegisters> threads;
  std::span<const ScannedBlock> blocks;
  /// Whether all used blocks of allocators are known. If false, allocator memory outside known
  /// blocks may contain unrecorded blocks, so it is a root.
  bool all_blocks_known = true;

  /// Whether `threads` contains all threads of the process.
  bool all_threads_seen = true;

  /// Returns the region that contains `address`, or nullptr.
  [[nodiscard]] const ScanRegion* find_region(std::uintptr_t address) const noexcept {
    const auto* found = std::partition_point(
        regions.begin(), regions.end(),
        [address](const ScanRegion& region) { return region.range.end <= address; });
    return found != regions.end() && found->range.start <= address ? found : nullptr;
  }

  /// Returns the first block whose end is above `address`.
  [[nodiscard]] const ScannedBlock* first_block_behind(std::uintptr_t address) const noexcept {
    return std::partition_point(
        blocks.data(), blocks.data() + blocks.size(),
        [address](const ScannedBlock& block) { return block.end() <= address; });
  }

  /// Returns whether inaccessible memory directly precedes `region`, which is an element of
  /// `regions`.
  [[nodiscard]] bool is_behind_guard(const ScanRegion& region) const noexcept {
    if (&region == regions.begin()) return false;
    const ScanRegion& before = (&region)[-1];
    return before.range.end == region.range.start && !before.readable && !before.writable;
  }

  [[nodiscard]] bool holds_blocks(AddressRange range) const noexcept {
    const ScannedBlock* const block = first_block_behind(range.start);
    return block != blocks.data() + blocks.size() && block->start < range.end;
  }

  /// Returns the block-free part of `range` around `address`. Empty if a block contains `address`.
  [[nodiscard]] AddressRange between_blocks(AddressRange range,
                                            std::uintptr_t address) const noexcept {
    const ScannedBlock* const next = first_block_behind(address);
    if (next != blocks.data()) range.start = std::max(range.start, next[-1].end());
    if (next != blocks.data() + blocks.size()) range.end = std::min(range.end, next->start);
    return range.end > address ? range : AddressRange{address, address};
  }
};

}  // namespace alloctap
