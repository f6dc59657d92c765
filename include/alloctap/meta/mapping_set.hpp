/// The interval set behind `MappingContainer`: a red-black tree of disjoint ranges.
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

/// Disjoint intervals; adjacent pieces of one mapping are always merged.
///
/// Constant-initialized, never destroyed. Not thread-safe; may run inside malloc, never throws.
class MappingSet {
 public:
  constexpr MappingSet() noexcept = default;
  MappingSet(const MappingSet&) = delete;
  MappingSet& operator=(const MappingSet&) = delete;

  /// Records `range`, which must be free. Returns false without changes if out of memory.
  [[nodiscard]] bool add(AddressRange range, StackId stack, std::uint64_t order) noexcept;

  /// Deletes what lies in `range`. Returns false if out of memory for the upper part of an interval
  /// that must be split; that interval stays unchanged.
  [[nodiscard]] bool discard(AddressRange range) noexcept;

  /// Removes what lies in `range` and returns it as a chain, for `put_back` or `destroy_all`. If
  /// out of memory, an interval that cannot be split stays whole, and a removed part without a node
  /// is missing from the chain. Either increments `lost`.
  [[nodiscard]] MappingInterval* take_out(AddressRange range, std::uint64_t& lost) noexcept;

  /// Restores a chain. Ranges added meanwhile stay and may split a restored piece. Each additional
  /// piece needs memory; without it the piece is lost and increments `lost`.
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

  /// Precondition: `range` overlaps no other interval, so that the order is unchanged.
  void resize(MappingInterval& interval, AddressRange range) noexcept {
    bytes_ = bytes_ - interval.range.length() + range.length();
    interval.range = range;
  }

  /// Removes `range`, which covers a part of `interval`, from it. Returns false without changes if
  /// out of memory for a second part.
  bool cut_out(MappingInterval& interval, AddressRange range) noexcept;

  MappingInterval* take_part(MappingInterval& interval, AddressRange range) noexcept;

  void put_back_one(MappingInterval* interval, std::uint64_t& lost) noexcept;

  /// Visits the free gaps of `range`. `visit` may insert into its gap and merge what it inserts.
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

  /// Merges two neighbours if they are adjacent pieces of one mapping.
  void join(MappingInterval& left, MappingInterval& right) noexcept;

  NoDestroyLazy<Set> set_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/meta/impl/mapping_set.hpp"
#endif
