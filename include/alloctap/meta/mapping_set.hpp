/// The ordered intervals behind `MappingContainer`.
#pragma once

#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"

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
  [[nodiscard]] bool add(AddressRange range, StackId stack, std::uint64_t order) noexcept;

  /// Forgets what lies in `range`. False, and no change, where that is the middle of one interval
  /// and there is no memory for the part behind it.
  [[nodiscard]] bool discard(AddressRange range) noexcept;

  /// Takes what lies in `range` out and returns it chained, for `put_back` or `destroy_all`. Parts
  /// that stay come first where memory is short: an interval that cannot be cut stays whole, a part
  /// inside that has no node is missing from the chain. Either adds one to `lost`.
  [[nodiscard]] MappingInterval* take_out(AddressRange range, std::uint64_t& lost) noexcept;

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

  Place first_ending_after(std::uintptr_t address) noexcept;

  bool starts_in(AddressRange range, const Place& place) noexcept {
    return place != set_.get().end() && place->range.start < range.end;
  }

  void insert(MappingInterval& interval) noexcept;

  void erase(MappingInterval& interval) noexcept;

  /// Precondition: `range` overlaps no other interval, so that the order stays.
  void resize(MappingInterval& interval, AddressRange range) noexcept {
    bytes_ = bytes_ - interval.range.length() + range.length();
    interval.range = range;
  }

  /// Leaves what lies outside `range`, which covers a part of `interval`. False, and no change,
  /// where there is no memory for a second part.
  bool cut_out(MappingInterval& interval, AddressRange range) noexcept;

  MappingInterval* take_part(MappingInterval& interval, AddressRange range) noexcept;

  void put_back_one(MappingInterval* interval, std::uint64_t& lost) noexcept;

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

  void insert_and_join(MappingInterval& piece) noexcept;

  /// Makes one of two neighbours if they are pieces of one mapping and nothing is between them.
  void join(MappingInterval& left, MappingInterval& right) noexcept;

  NoDestroyLazy<Set> set_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/meta/impl/mapping_set.hpp"
#endif
