/// Finds the block that contains an address.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// A live block for the leak scan.
struct ScannedBlock {
  std::uintptr_t start = 0;
  std::uint64_t size = 0;
  StackId stack = kNoStackId;

  /// Returns the end address. An empty block counts as one byte long.
  [[nodiscard]] constexpr std::uintptr_t end() const noexcept {
    return start + (size == 0 ? 1 : size);
  }
};

/// A constant-time index of live blocks. Each 1 MiB region with blocks has a table with an entry
/// per 512-byte granule: the first block that begins in or above the granule. A look-up searches
/// the blocks that begin in one granule. Allocated in the arena: 8 KiB per region.
class BlockIndex {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// Builds the index. Precondition: `blocks` are sorted by address and do not overlap. `blocks`
  /// must outlive this object. Returns false if out of memory or if there are too many blocks.
  [[nodiscard]] bool build(std::span<const ScannedBlock> blocks) noexcept {
    blocks_ = blocks;
    if (blocks.empty()) return true;
    if (blocks.size() >= kNone) return false;
    low_ = blocks.front().start;
    high_ = blocks.back().end();
    for (std::size_t first = 0; first < blocks.size();) {
      const std::size_t behind = end_of_region(first);
      if (!add_table(first, behind) || !add_inner_regions(behind)) return false;
      first = behind;
    }
    return build_slots();
  }

  /// Returns the index of the block that contains `address`, or `kNone`. A block excludes its end.
  [[nodiscard]] std::uint32_t find(std::uintptr_t address) const noexcept {
    if (address - low_ >= high_ - low_) return kNone;
    const Region* region = find_region(address >> kRegionBits);
    if (region == nullptr) return kNone;
    const std::uint32_t candidate = last_not_above(*region, address);
    return candidate != kNone && address < blocks_[candidate].end() ? candidate : kNone;
  }

  [[nodiscard]] std::span<const ScannedBlock> blocks() const noexcept { return blocks_; }

 private:
  static constexpr unsigned kRegionBits = 20;
  static constexpr unsigned kGranuleBits = 9;
  static constexpr std::size_t kGranules = std::size_t{1} << (kRegionBits - kGranuleBits);
  static constexpr std::uint32_t kNoTable = std::numeric_limits<std::uint32_t>::max();

  /// Maps each granule and the region's end to the first block that begins in or above it.
  using Table = std::array<std::uint32_t, kGranules + 1>;

  struct Region {
    std::uintptr_t number = 0;
    /// The first block that begins in or above the region.
    std::uint32_t first = 0;
    /// Index of the region's table; `kNoTable` if no block begins in the region.
    std::uint32_t table = kNoTable;
  };

  [[nodiscard]] std::size_t end_of_region(std::size_t first) const noexcept {
    const std::uintptr_t number = blocks_[first].start >> kRegionBits;
    std::size_t behind = first + 1;
    while (behind < blocks_.size() && blocks_[behind].start >> kRegionBits == number) ++behind;
    return behind;
  }

  bool add_table(std::size_t first, std::size_t behind) noexcept {
    const auto number = static_cast<std::uint32_t>(tables_.size());
    if (!tables_.resize_for_overwrite(tables_.size() + 1) ||
        !regions_.push_back(
            {blocks_[first].start >> kRegionBits, static_cast<std::uint32_t>(first), number})) {
      return false;
    }
    Table& table = tables_[number];
    std::size_t block = first;
    for (std::size_t granule = 0; granule <= kGranules; ++granule) {
      const std::uintptr_t start =
          (blocks_[first].start >> kRegionBits << kRegionBits) + (granule << kGranuleBits);
      while (block < behind && blocks_[block].start < start) ++block;
      table[granule] = static_cast<std::uint32_t>(block);
    }
    return true;
  }

  /// Adds the regions into which block `behind - 1` extends and in which no block begins.
  bool add_inner_regions(std::size_t behind) noexcept {
    const ScannedBlock& last = blocks_[behind - 1];
    const std::uintptr_t next = behind < blocks_.size()
                                    ? blocks_[behind].start >> kRegionBits
                                    : std::numeric_limits<std::uintptr_t>::max();
    const std::uintptr_t end = std::min(((last.end() - 1) >> kRegionBits) + 1, next);
    for (std::uintptr_t number = (last.start >> kRegionBits) + 1; number < end; ++number) {
      if (!regions_.push_back({number, static_cast<std::uint32_t>(behind), kNoTable})) return false;
    }
    return true;
  }

  bool build_slots() noexcept {
    const std::size_t slots = std::bit_ceil(regions_.size() * 2);
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots));
    if (!slots_.resize(slots)) return false;
    for (const Region& region : regions_) {
      std::size_t slot = slot_of(region.number);
      while (slots_[slot].number != 0) slot = (slot + 1) & (slots - 1);
      slots_[slot] = region;
    }
    return true;
  }

  /// Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4.
  [[nodiscard]] std::size_t slot_of(std::uintptr_t number) const noexcept {
    return static_cast<std::size_t>(number * 0x9E3779B97F4A7C15u >> shift_);
  }

  /// Number 0 marks an empty slot, because no block lies in the first MiB.
  [[nodiscard]] const Region* find_region(std::uintptr_t number) const noexcept {
    for (std::size_t slot = slot_of(number);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].number == number) return number != 0 ? &slots_[slot] : nullptr;
      if (slots_[slot].number == 0) return nullptr;
    }
  }

  [[nodiscard]] std::uint32_t last_not_above(const Region& region,
                                             std::uintptr_t address) const noexcept {
    std::uint32_t above = region.first;
    if (region.table != kNoTable) {
      const Table& table = tables_[region.table];
      const std::size_t granule = address >> kGranuleBits & (kGranules - 1);
      above = table[granule];
      for (std::uint32_t end = table[granule + 1]; above < end;) {
        const std::uint32_t middle = above + (end - above) / 2;
        if (blocks_[middle].start <= address) {
          above = middle + 1;
        } else {
          end = middle;
        }
      }
    }
    return above == 0 ? kNone : above - 1;
  }

  std::span<const ScannedBlock> blocks_;
  std::uintptr_t low_ = 0;
  std::uintptr_t high_ = 0;
  ArenaArray<Region> regions_;
  ArenaArray<Table> tables_;
  ArenaArray<Region> slots_;
  unsigned shift_ = 63;
};

}  // namespace alloctap
