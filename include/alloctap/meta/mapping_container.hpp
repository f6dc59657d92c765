/// Which address space the program has mapped, exact to the page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/meta/mapping_set.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// What `MappingContainer::for_each` shows: a mapping, or one of the pieces that are left of it.
struct MappingRecord {
  std::uintptr_t start = 0;
  /// Bytes, whole pages.
  std::size_t length = 0;
  StackId stack = kNoStackId;
  /// The number of the `map` call that recorded it, from 1; pieces of one mapping share it.
  std::uint64_t order = 0;
};

/// Numbers of one moment. Bytes are those of whole pages.
struct MappingTotals {
  /// Calls of `map`, but for empty ones, and their bytes; also those that could not be recorded.
  /// The bytes stay at UINT64_MAX: reserved address space is counted again each time.
  std::uint64_t mappings = 0;
  std::uint64_t mapped_bytes = 0;
  /// Calls of `finish_unmap`, also those that found nothing recorded.
  std::uint64_t unmappings = 0;
  /// Intervals recorded now: a mapping with a hole counts twice.
  std::uint64_t live_mappings = 0;
  std::uint64_t live_bytes = 0;
  /// The most that `live_bytes` has been.
  std::uint64_t peak_live_bytes = 0;
  /// Records that are missing or too long because the system had no memory for them.
  std::uint64_t dropped = 0;
};

/// Mappings as intervals: unmapping a part splits them, mapping over them replaces what lies below,
/// a failed call changes nothing. Adjacent mappings stay apart, whoever made them.
///
/// A call that removes mappings is told in two steps, before and after the system's part, because
/// afterwards another thread may own the addresses: `begin_unmap`, then exactly one of
/// `cancel_unmap` and `finish_unmap`. A remapping is `begin_unmap` of the old range, the real call,
/// then either `cancel_unmap`, or `finish_unmap` and `map` of the new one.
///
/// Thread-safe; runs inside malloc and mmap, never throws; errno may change. Constant-initialized,
/// never destroyed. One lock protects the intervals and the totals; the arena's is taken inside it.
/// It needs no care at fork as long as hooks call from within a `RecordingScope`: the gate is
/// closed then, and nobody holds it. What another thread has taken out at that moment is missing in
/// the child.
class MappingContainer {
 public:
  constexpr MappingContainer() noexcept = default;

  /// Records `[start, start + length)`, rounded up to whole pages, in place of what was there.
  /// `start` is a page's. False, and one more dropped, where the system has no memory for it: what
  /// was there is gone then too, unless it was the middle of one mapping and that stays as it was.
  bool map(std::uintptr_t start, std::size_t length, StackId stack) noexcept;

  /// Takes the parts of mappings in `[start, start + length)`, rounded up to whole pages, out of
  /// the records. The result belongs to the caller. Where the system has no memory, what lies
  /// outside stays right first of all: a mapping that cannot be split in two stays whole, a part
  /// inside may be missing from the result and does not come back when cancelled. Each is one more
  /// dropped.
  [[nodiscard]] DetachedMappings begin_unmap(std::uintptr_t start, std::size_t length) noexcept;

  /// The system refused: puts `detached` back as it was and empties it. What was mapped meanwhile
  /// stays; a piece that has no memory between two such is dropped.
  void cancel_unmap(DetachedMappings& detached) noexcept;

  /// The system did it: frees `detached` and empties it.
  void finish_unmap(DetachedMappings& detached) noexcept;

  [[nodiscard]] MappingTotals totals() noexcept;

  [[nodiscard]] std::uint64_t live_bytes() noexcept { return totals().live_bytes; }
  [[nodiscard]] std::uint64_t live_mappings() noexcept { return totals().live_mappings; }
  [[nodiscard]] std::uint64_t dropped() noexcept { return totals().dropped; }

  /// Calls `visit(const MappingRecord&)` by ascending address, with the lock held: it may neither
  /// call this container nor the host's allocator.
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
  /// Cut at the end of the address space.
  static AddressRange whole_pages(std::uintptr_t start, std::size_t length) noexcept;

  static MappingInterval* take(DetachedMappings& detached) noexcept {
    return static_cast<MappingInterval*>(std::exchange(detached.first, nullptr));
  }

  void note_peak() noexcept {
    totals_.peak_live_bytes = std::max<std::uint64_t>(totals_.peak_live_bytes, set_.bytes());
  }

  FutexLock lock_;
  MappingSet set_;
  /// But for what the set counts itself.
  MappingTotals totals_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/meta/impl/mapping_container.hpp"
#endif
