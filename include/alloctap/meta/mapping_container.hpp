/// Records of the program's memory mappings (mmap), with page granularity.
#pragma once

#include <algorithm>
#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

using MappingHook =
    boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>,
                                    boost::intrusive::link_mode<boost::intrusive::normal_link>>;

/// A mapping, or a piece left by a partial unmapping. Fits an arena block of 64 bytes.
struct MappingInterval : MappingHook {
  MappingInterval(AddressRange where, StackId mapper, std::uint64_t creation) noexcept
      : range(where), order(creation), stack(mapper) {}

  AddressRange range;
  /// The serial number of the `map` call; pieces of one mapping have equal numbers.
  std::uint64_t order;
  /// The next node in a chain of intervals that were removed from the set.
  MappingInterval* next = nullptr;
  StackId stack;

  friend bool operator<(const MappingInterval& left, const MappingInterval& right) noexcept {
    return left.range.start < right.range.start;
  }
};

/// An ordered set of disjoint mapped intervals. Adjacent pieces of one mapping are merged.
///
/// Constant-initialized, never destroyed. Not thread-safe; may run inside malloc, never throws.
class MappingSet {
 public:
  constexpr MappingSet() noexcept = default;
  MappingSet(const MappingSet&) = delete;
  MappingSet& operator=(const MappingSet&) = delete;

  /// Adds `range`, which must overlap no interval. Returns false without changes if out of memory.
  [[nodiscard]] bool add(AddressRange range, StackId stack, std::uint64_t order) noexcept;

  /// Removes `range`, splitting intervals if needed. Returns false if out of memory for the upper
  /// part of a split interval, which then stays unchanged.
  [[nodiscard]] bool discard(AddressRange range) noexcept;

  /// Removes `range` and returns the removed pieces as a chain, for `put_back` or `destroy_all`. If
  /// out of memory, an interval that must be split stays whole, or a removed piece is missing in
  /// the chain. Either case increments `lost`.
  [[nodiscard]] MappingInterval* take_out(AddressRange range, std::uint64_t& lost) noexcept;

  /// Restores a chain. Intervals added meanwhile stay, so they may split a piece. Each additional
  /// piece needs memory; if memory runs out, the piece is lost and `lost` is incremented.
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

  /// Precondition: `range` overlaps no other interval, so that the set stays ordered.
  void resize(MappingInterval& interval, AddressRange range) noexcept {
    bytes_ = bytes_ - interval.range.length() + range.length();
    interval.range = range;
  }

  /// Removes `range`, which covers a part of `interval`. Returns false without changes if out of
  /// memory for the upper part of a split.
  bool cut_out(MappingInterval& interval, AddressRange range) noexcept;

  MappingInterval* take_part(MappingInterval& interval, AddressRange range) noexcept;

  void put_back_one(MappingInterval* interval, std::uint64_t& lost) noexcept;

  /// Visits the unmapped gaps in `range`. `visit` may insert into the gap and merge.
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

  /// Merges two neighbours if they are adjacent pieces of the mapping of one `map` call.
  void join(MappingInterval& left, MappingInterval& right) noexcept;

  NoDestroyLazy<Set> set_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

/// A mapping, or a piece left by a partial unmapping, for `MappingContainer::for_each`.
struct MappingRecord {
  std::uintptr_t start = 0;
  /// The length in bytes, a multiple of the page size.
  std::size_t length = 0;
  StackId stack = kNoStackId;
  /// The serial number of the `map` call, from 1. Pieces of one mapping have equal numbers.
  std::uint64_t order = 0;
};

/// Mapping counts at one moment. Byte counts are multiples of the page size.
struct MappingTotals {
  /// The number and bytes of `map` calls with nonempty ranges, recorded or not. The bytes saturate
  /// at UINT64_MAX, because reserved address space is counted each time.
  std::uint64_t mappings = 0;
  std::uint64_t mapped_bytes = 0;
  /// The number of `finish_unmap` calls, even if nothing was recorded in the range.
  std::uint64_t unmappings = 0;
  /// The number of recorded intervals. A mapping with a hole is two intervals.
  std::uint64_t live_mappings = 0;
  std::uint64_t live_bytes = 0;
  /// The maximum of `live_bytes`.
  std::uint64_t peak_live_bytes = 0;
  /// Records that are missing or too long because memory ran out.
  std::uint64_t dropped = 0;
};

/// The records of mappings. Unmapping a part splits a mapping; mapping over others replaces them; a
/// failed call changes nothing. Pieces of different mappings are never merged.
///
/// A call that removes mappings has two steps, because after the system call another thread may own
/// the addresses. `begin_unmap` precedes the system call; `finish_unmap` follows, or `cancel_unmap`
/// if the system call failed. An mremap is an unmapping of the old range; `map` of the new range
/// follows after `finish_unmap`.
///
/// Thread-safe; runs inside malloc and mmap, never throws; may change errno. Constant-initialized,
/// never destroyed. One lock guards everything; its holder may acquire the arena's lock. Hooks call
/// from a `RecordingScope`, so at a fork the world is stopped and the lock is free. A child process
/// lacks mappings that another thread of the parent had detached in `begin_unmap`.
class MappingContainer {
 public:
  constexpr MappingContainer() noexcept = default;

  /// Records `[start, start + length)`, rounded up to whole pages, and replaces records inside.
  /// `start` is page-aligned. If out of memory, returns false and increments `dropped`. The
  /// replaced records are removed even then, but a mapping that would have to be split stays
  /// unchanged.
  bool map(std::uintptr_t start, std::size_t length, StackId stack) noexcept;

  /// Removes the records in `[start, start + length)`, rounded up to whole pages. Returns the
  /// removed pieces, which the caller owns. If out of memory, a mapping that must be split stays
  /// whole, or a removed piece is missing in the result; each counts as dropped. Records outside
  /// the range stay correct even so.
  [[nodiscard]] DetachedMappings begin_unmap(std::uintptr_t start, std::size_t length) noexcept;

  /// Restores and empties `detached` after a failed system call. Ranges mapped meanwhile stay. A
  /// piece split by such a range may be dropped if out of memory.
  void cancel_unmap(DetachedMappings& detached) noexcept;

  /// Frees and empties `detached` after a successful system call.
  void finish_unmap(DetachedMappings& detached) noexcept;

  [[nodiscard]] MappingTotals totals() noexcept;

  [[nodiscard]] std::uint64_t live_bytes() noexcept { return totals().live_bytes; }
  [[nodiscard]] std::uint64_t live_mappings() noexcept { return totals().live_mappings; }
  [[nodiscard]] std::uint64_t dropped() noexcept { return totals().dropped; }

  /// Calls `visit(const MappingRecord&)` by ascending address. Holds the lock, so `visit` must not
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
  /// Rounds up to whole pages, but not beyond the end of the address space.
  static AddressRange whole_pages(std::uintptr_t start, std::size_t length) noexcept;

  static MappingInterval* take(DetachedMappings& detached) noexcept {
    return static_cast<MappingInterval*>(std::exchange(detached.first, nullptr));
  }

  void note_peak() noexcept {
    totals_.peak_live_bytes = std::max<std::uint64_t>(totals_.peak_live_bytes, set_.bytes());
  }

  FutexLock lock_;
  MappingSet set_;
  /// The totals; their live mappings and bytes are counted by `set_` instead.
  MappingTotals totals_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/meta/impl/mapping_container.hpp"
#endif
