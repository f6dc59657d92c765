/// The roots of a leak scan.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/snapshot/reach/address_ranges.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"
#include "alloctap/snapshot/reach/thread_places.hpp"

namespace alloctap {

/// Selects the ranges that are roots: data of modules, and writable memory that contains no blocks
/// of an allocator. In an allocator's memory, only stacks, thread-local storage and memory that the
/// program mapped are roots. Blocks are never roots, because only reachable blocks are scanned.
///
/// Memory of unknown use is a root. So a leak may be missed, but no reachable block is reported.
class ScanRoots {
 public:
  /// Stores a reference to `layout`, whose sets must be settled.
  explicit ScanRoots(const ScanLayout& layout) noexcept : layout_(layout), places_(layout) {}

  /// Finds stacks and thread-local storage. Call it first. Returns false if out of memory.
  [[nodiscard]] bool find() noexcept { return places_.find(); }

  /// Calls `visit(AddressRange)` for each range of roots.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const ScanRegion& region : layout_.regions) {
      if (!may_hold_pointers(region)) continue;
      layout_.modules.for_each_inside(region.range,
                                      [&](AddressRange part) { visit_part(part, visit); });
      layout_.modules.for_each_outside(region.range, [&](AddressRange part) {
        if (is_allocators(region, part)) {
          visit_known(part, visit);
        } else {
          visit_part(part, visit);
        }
      });
    }
  }

 private:
  [[nodiscard]] bool may_hold_pointers(const ScanRegion& region) const noexcept {
    if (region.is_protected) return !region.executable;
    if (!region.readable) return false;
    return region.writable || (region.anonymous && !region.executable) || was_writable(region);
  }

  /// Returns whether the loader made the region read-only after relocation (RELRO). Uses the
  /// module's program headers or, if unknown, whether a module's writable memory follows.
  [[nodiscard]] bool was_writable(const ScanRegion& region) const noexcept {
    if (region.for_writing) return *region.for_writing && !region.executable;
    const ScanRegion* const next = &region + 1;
    return !region.shared && !region.executable && next != layout_.regions.end() &&
           next->range.start == region.range.end && next->writable &&
           layout_.modules.touches(region.range) && layout_.modules.touches(next->range);
  }

  [[nodiscard]] bool is_allocators(const ScanRegion& region, AddressRange part) const noexcept {
    return layout_.all_blocks_known && region.anonymous && !region.shared && !region.main_stack &&
           layout_.holds_blocks(part);
  }

  template <class Visit>
  void visit_known(AddressRange part, Visit& visit) const {
    const auto visit_inside = [&](AddressRange inside) { visit_part(inside, visit); };
    layout_.programs.for_each_inside(part, visit_inside);
    places_.used().for_each_inside(part, visit_inside);
  }

  template <class Visit>
  void visit_part(AddressRange part, Visit& visit) const {
    layout_.left_out.for_each_outside(part, [&](AddressRange own_left_out) {
      places_.unused().for_each_outside(
          own_left_out, [&](AddressRange used) { visit_between_blocks(used, visit); });
    });
  }

  template <class Visit>
  void visit_between_blocks(AddressRange range, Visit& visit) const {
    const ScannedBlock* const end = layout_.blocks.data() + layout_.blocks.size();
    std::uintptr_t start = range.start;
    for (const ScannedBlock* block = layout_.first_block_behind(start);
         block != end && block->start < range.end; ++block) {
      if (start < block->start) visit(AddressRange{start, block->start});
      start = block->end();
    }
    if (start < range.end) visit(AddressRange{start, range.end});
  }

  const ScanLayout& layout_;
  ThreadPlaces places_;
};

}  // namespace alloctap
