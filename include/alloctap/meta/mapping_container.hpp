/// The program's memory mappings (mmap), with page accuracy.
#pragma once

#include <algorithm>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
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

/// A mapping, or a piece that is left after a partial unmap, for `MappingContainer::for_each`.
struct MappingRecord {
  std::uintptr_t start = 0;
  /// Bytes of whole pages.
  std::size_t length = 0;
  StackId stack = kNoStackId;
  /// The number of the `map` call that recorded it, from 1. Pieces of one mapping share it.
  std::uint64_t order = 0;
};

/// Totals at one moment. Bytes are those of whole pages.
struct MappingTotals {
  /// Calls of `map`, except for empty ranges, and their bytes, even if they could not be recorded.
  /// The bytes saturate at UINT64_MAX, because reserved address space is counted again each time.
  std::uint64_t mappings = 0;
  std::uint64_t mapped_bytes = 0;
  /// Calls of `finish_unmap`, even if nothing was recorded.
  std::uint64_t unmappings = 0;
  /// Intervals recorded now: a mapping with a hole counts twice.
  std::uint64_t live_mappings = 0;
  std::uint64_t live_bytes = 0;
  /// The maximum of `live_bytes`.
  std::uint64_t peak_live_bytes = 0;
  /// Records that are missing or too long because the tracker was out of memory.
  std::uint64_t dropped = 0;
};

/// A set of intervals. Unmapping a part splits a mapping; mapping over others replaces them; a
/// failed call changes nothing. Adjacent mappings are never merged.
///
/// A call that removes mappings has two steps, before and after the system call, because afterwards
/// another thread may own the addresses: `begin_unmap`, then either `cancel_unmap` or
/// `finish_unmap`. An mremap is `begin_unmap` of the old range, the system call, then either
/// `cancel_unmap`, or `finish_unmap` and `map` of the new range.
///
/// Thread-safe; runs inside malloc and mmap, never throws; may change errno. Constant-initialized,
/// never destroyed. One lock guards the intervals and the totals; the arena's lock is acquired
/// inside it. Hooks call from a `RecordingScope`, so at a fork the world is stopped and the lock is
/// free. Mappings that another thread has detached at that moment are missing in the child.
class MappingContainer {
 public:
  constexpr MappingContainer() noexcept = default;

  /// Records `[start, start + length)`, rounded up to whole pages, replacing what was there.
  /// `start` is page-aligned. Returns false and counts one dropped if out of memory. Then the
  /// replaced mappings are gone, too, unless the range is the middle of one mapping, which stays
  /// unchanged.
  bool map(std::uintptr_t start, std::size_t length, StackId stack) noexcept;

  /// Removes `[start, start + length)`, rounded up to whole pages, from the records and returns the
  /// removed parts, which the caller owns. If out of memory, records outside the range stay
  /// correct: a mapping that cannot be split stays whole, and a removed part may be missing from
  /// the result. Each counts as dropped.
  [[nodiscard]] DetachedMappings begin_unmap(std::uintptr_t start, std::size_t length) noexcept;

  /// Restores and empties `detached` after a failed system call. Ranges mapped meanwhile stay; a
  /// piece between two of them for which there is no memory is dropped.
  void cancel_unmap(DetachedMappings& detached) noexcept;

  /// Frees and empties `detached` after a successful system call.
  void finish_unmap(DetachedMappings& detached) noexcept;

  [[nodiscard]] MappingTotals totals() noexcept;

  [[nodiscard]] std::uint64_t live_bytes() noexcept { return totals().live_bytes; }
  [[nodiscard]] std::uint64_t live_mappings() noexcept { return totals().live_mappings; }
  [[nodiscard]] std::uint64_t dropped() noexcept { return totals().dropped; }

  /// Calls `visit(const MappingRecord&)` by ascending address, with the lock held: `visit` must not
  /// call this container or the program's allocator.
  template <class Visit>
  void for_each(Visit&& visit) {
    const std::lock_guard hold(lock_);
    set_.for_each([&](const MappingInterval& interval) {
      visit(MappingRecord{.start = interval.range.start,
                          .length = interval.range.length(),
                          .stack = interval.stack,
                          .order = interval.order});
    });
  }

 private:
  /// Clamps to the end of the address space.
  static AddressRange whole_pages(std::uintptr_t start, std::size_t length) noexcept;

  static MappingInterval* take(DetachedMappings& detached) noexcept {
    return static_cast<MappingInterval*>(std::exchange(detached.first, nullptr));
  }

  void note_peak() noexcept {
    totals_.peak_live_bytes = std::max<std::uint64_t>(totals_.peak_live_bytes, set_.bytes());
  }

  FutexLock lock_;
  MappingSet set_;
  /// Totals that `set_` does not count itself.
  MappingTotals totals_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/meta/impl/mapping_container.hpp"
#endif
