/// The ordered intervals behind `MappingContainer`.
#pragma once

#include <algorithm>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <utility>

#include "alloctap/guard/arena.hpp"
#include "alloctap/guard/late_construction.hpp"
#include "alloctap/meta/mapping_interval.hpp"

namespace alloctap {

/// Intervals that never overlap; adjacent pieces of one mapping are always one interval.
///
/// Constant-initialized, never destroyed. Not thread-safe; may run inside malloc, never throws.
class MappingSet {
 public:
  constexpr MappingSet() noexcept = default;
  MappingSet(const MappingSet&) = delete;
  MappingSet& operator=(const MappingSet&) = delete;

  /// Records `range`, which must be free. False, and no change, where there is no memory.
  [[nodiscard]] bool add(AddressRange range, StackId stack, std::uint64_t order) noexcept {
    MappingInterval* interval = make(range, stack, order);
    if (interval != nullptr) insert(*interval);
    return interval != nullptr;
  }

  /// Forgets what lies in `range`. False, and no change, where that is the middle of one interval
  /// and there is no memory for the part behind it.
  [[nodiscard]] bool discard(AddressRange range) noexcept {
    bool complete = true;
    for (Place place = first_ending_after(range.start); starts_in(range, place);) {
      MappingInterval& interval = *place++;
      if (range.contains(interval.range)) {
        erase(interval);
        destroy(&interval);
      } else {
        complete = cut_out(interval, range) && complete;
      }
    }
    return complete;
  }

  /// Takes what lies in `range` out and returns it chained, for `put_back` or `destroy_all`. Parts
  /// that stay come first where memory is short: an interval that cannot be cut stays whole, a part
  /// inside that has no node is missing from the chain. Either adds one to `lost`.
  [[nodiscard]] MappingInterval* take_out(AddressRange range, std::uint64_t& lost) noexcept {
    MappingInterval* first = nullptr;
    for (Place place = first_ending_after(range.start); starts_in(range, place);) {
      MappingInterval* part = take_part(*place++, range);
      if (part == nullptr) {
        ++lost;
      } else {
        part->next = std::exchange(first, part);
      }
    }
    return first;
  }

  /// Puts a chain back. Where something was added meanwhile, that stays. Each piece more than was
  /// taken out that this leaves needs memory; without it the piece is gone and adds one to `lost`.
  void put_back(MappingInterval* first, std::uint64_t& lost) noexcept {
    while (first != nullptr) put_back_one(std::exchange(first, first->next), lost);
  }

  static void destroy_all(MappingInterval* first) noexcept {
    while (first != nullptr) destroy(std::exchange(first, first->next));
  }

  /// Calls `visit(const MappingInterval&)` by ascending address.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const MappingInterval& interval : set_.get()) visit(interval);
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  using Set = boost::intrusive::set<MappingInterval, boost::intrusive::constant_time_size<false>>;
  using Place = Set::iterator;

  static MappingInterval* make(AddressRange range, StackId stack, std::uint64_t order) noexcept {
    void* memory = Arena::allocate(sizeof(MappingInterval));
    return memory == nullptr ? nullptr : ::new (memory) MappingInterval(range, stack, order);
  }

  static void destroy(MappingInterval* interval) noexcept {
    Arena::deallocate(interval, sizeof(MappingInterval));
  }

  Place first_ending_after(std::uintptr_t address) noexcept {
    const auto starts_behind = [](std::uintptr_t value, const MappingInterval& interval) {
      return value < interval.range.start;
    };
    const Place behind = set_.get().upper_bound(address, starts_behind);
    if (behind == set_.get().begin()) return behind;
    const Place before = std::prev(behind);
    return before->range.end > address ? before : behind;
  }

  bool starts_in(AddressRange range, const Place& place) noexcept {
    return place != set_.get().end() && place->range.start < range.end;
  }

  void insert(MappingInterval& interval) noexcept {
    set_.get().insert(interval);
    bytes_ += interval.range.length();
    ++count_;
  }

  void erase(MappingInterval& interval) noexcept {
    set_.get().erase(set_.get().iterator_to(interval));
    bytes_ -= interval.range.length();
    --count_;
  }

  /// Precondition: `range` overlaps no other interval, so that the order stays.
  void resize(MappingInterval& interval, AddressRange range) noexcept {
    bytes_ = bytes_ - interval.range.length() + range.length();
    interval.range = range;
  }

  /// Leaves what lies outside `range`, which covers a part of `interval`. False, and no change,
  /// where there is no memory for a second part.
  bool cut_out(MappingInterval& interval, AddressRange range) noexcept {
    const AddressRange before{interval.range.start, range.start};
    const AddressRange behind{range.end, interval.range.end};
    if (before.empty()) {
      resize(interval, behind);
      return true;
    }
    if (!behind.empty() && !add(behind, interval.stack, interval.order)) return false;
    resize(interval, before);
    return true;
  }

  MappingInterval* take_part(MappingInterval& interval, AddressRange range) noexcept {
    if (range.contains(interval.range)) {
      erase(interval);
      return &interval;
    }
    const AddressRange inside{std::max(interval.range.start, range.start),
                              std::min(interval.range.end, range.end)};
    if (!cut_out(interval, range)) return nullptr;
    return make(inside, interval.stack, interval.order);
  }

  void put_back_one(MappingInterval* interval, std::uint64_t& lost) noexcept {
    MappingInterval* unused = interval;
    const StackId stack = interval->stack;
    const std::uint64_t order = interval->order;
    for_each_gap(interval->range, [&](AddressRange gap) {
      MappingInterval* piece = std::exchange(unused, nullptr);
      if (piece == nullptr) piece = make(gap, stack, order);
      if (piece == nullptr) return static_cast<void>(++lost);
      piece->range = gap;
      insert_and_join(*piece);
    });
    if (unused != nullptr) destroy(unused);
  }

  /// `visit` may insert into the gap that it is given, and join what it inserts.
  template <class Visit>
  void for_each_gap(AddressRange range, Visit&& visit) noexcept {
    Place next = first_ending_after(range.start);
    for (std::uintptr_t from = range.start; from < range.end;) {
      const bool taken = starts_in(range, next);
      const AddressRange gap{from, taken ? next->range.start : range.end};
      from = taken ? (next++)->range.end : range.end;
      if (!gap.empty()) visit(gap);
    }
  }

  void insert_and_join(MappingInterval& piece) noexcept {
    insert(piece);
    const Place place = set_.get().iterator_to(piece);
    if (std::next(place) != set_.get().end()) join(*place, *std::next(place));
    if (place != set_.get().begin()) join(*std::prev(place), *place);
  }

  /// Makes one of two neighbours if they are pieces of one mapping and nothing is between them.
  void join(MappingInterval& left, MappingInterval& right) noexcept {
    if (left.order != right.order || left.range.end != right.range.start) return;
    const AddressRange both{left.range.start, right.range.end};
    erase(right);
    destroy(&right);
    resize(left, both);
  }

  LateConstruction<Set> set_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace alloctap
