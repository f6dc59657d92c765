/// A set of address ranges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// A sorted set of address ranges. Call `add` for all ranges, then `settle` once, then query.
/// Allocated in the arena. Not thread-safe.
class AddressRanges {
 public:
  /// Adds a range unless it is empty. Returns false if out of memory.
  [[nodiscard]] bool add(AddressRange range) noexcept {
    return range.empty() || ranges_.push_back(range);
  }

  /// Sorts the ranges, and merges those that overlap or touch.
  void settle() noexcept {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
    std::size_t kept = 0;
    for (const AddressRange& range : ranges_) {
      if (kept > 0 && range.start <= ranges_[kept - 1].end) {
        ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, range.end);
      } else {
        ranges_[kept++] = range;
      }
    }
    static_cast<void>(ranges_.resize(kept));
  }

  /// Calls `visit(AddressRange)` for each part of `range` that is in the set.
  template <class Visit>
  void for_each_inside(AddressRange range, Visit&& visit) const {
    for (const AddressRange* at = first_ending_behind(range.start);
         at != ranges_.end() && at->start < range.end; ++at) {
      visit(AddressRange{std::max(at->start, range.start), std::min(at->end, range.end)});
    }
  }

  /// Calls `visit(AddressRange)` for each part of `range` that is not in the set.
  template <class Visit>
  void for_each_outside(AddressRange range, Visit&& visit) const {
    std::uintptr_t start = range.start;
    for_each_inside(range, [&](AddressRange inside) {
      if (start < inside.start) visit(AddressRange{start, inside.start});
      start = inside.end;
    });
    if (start < range.end) visit(AddressRange{start, range.end});
  }

  [[nodiscard]] bool touches(AddressRange range) const noexcept {
    const AddressRange* at = first_ending_behind(range.start);
    return at != ranges_.end() && at->start < range.end;
  }

  [[nodiscard]] const AddressRange* begin() const noexcept { return ranges_.begin(); }
  [[nodiscard]] const AddressRange* end() const noexcept { return ranges_.end(); }

 private:
  [[nodiscard]] const AddressRange* first_ending_behind(std::uintptr_t address) const noexcept {
    return std::partition_point(
        ranges_.begin(), ranges_.end(),
        [address](const AddressRange& range) { return range.end <= address; });
  }

  ArenaArray<AddressRange> ranges_;
};

}  // namespace alloctap
