/// What a scan knows of the address space.
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

/// A mapped range.
struct ScanRegion {
  AddressRange range;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  /// Of no file.
  bool anonymous = false;
  /// Private memory without access, which the program may allow itself again. Address space that is
  /// merely reserved is larger.
  bool is_protected = false;
  /// The main thread's stack.
  bool main_stack = false;
  /// Whether the module's file has it for writing; nothing where it does not say.
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

/// All that `ScanRoots` chooses from. Filled by whoever scans, then settled.
struct ScanLayout {
  /// By ascending address.
  ArenaArray<ScanRegion> regions;
  /// From the first to the last byte of each.
  AddressRanges modules;
  /// What is known to be the program's: mapped by itself, or allocated before anybody looked on.
  AddressRanges programs;
  /// Whatever is there, it holds no pointer of the program's.
  AddressRanges left_out;
  std::span<const os::ThreadRegisters> threads;
  std::span<const ScannedBlock> blocks;
  /// Whether all memory of the allocator that is in no block is free. Else the program may hold
  /// blocks that nobody recorded, and such memory counts as if it did.
  bool all_blocks_known = true;

  /// Whether `threads` are all that there are.
  bool all_threads_seen = true;

  /// The region that `address` lies in, or nullptr.
  [[nodiscard]] const ScanRegion* find_region(std::uintptr_t address) const noexcept {
    const auto* found = std::partition_point(
        regions.begin(), regions.end(),
        [address](const ScanRegion& region) { return region.range.end <= address; });
    return found != regions.end() && found->range.start <= address ? found : nullptr;
  }

  /// The first block that reaches beyond `address`.
  [[nodiscard]] const ScannedBlock* first_block_behind(std::uintptr_t address) const noexcept {
    return std::partition_point(
        blocks.data(), blocks.data() + blocks.size(),
        [address](const ScannedBlock& block) { return block.end() <= address; });
  }

  /// Whether memory without access comes right before `region`, one of these.
  [[nodiscard]] bool is_behind_guard(const ScanRegion& region) const noexcept {
    if (&region == regions.begin()) return false;
    const ScanRegion& before = (&region)[-1];
    return before.range.end == region.range.start && !before.readable && !before.writable;
  }

  [[nodiscard]] bool holds_blocks(AddressRange range) const noexcept {
    const ScannedBlock* const block = first_block_behind(range.start);
    return block != blocks.data() + blocks.size() && block->start < range.end;
  }

  /// What lies around `address` in `range` up to the next blocks; empty inside a block.
  [[nodiscard]] AddressRange between_blocks(AddressRange range,
                                            std::uintptr_t address) const noexcept {
    const ScannedBlock* const next = first_block_behind(address);
    if (next != blocks.data()) range.start = std::max(range.start, next[-1].end());
    if (next != blocks.data() + blocks.size()) range.end = std::min(range.end, next->start);
    return range.end > address ? range : AddressRange{address, address};
  }
};

}  // namespace alloctap
