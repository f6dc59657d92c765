/// The consumer of events, which applies them to the container and counts the results.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/record/thread_stats_table.hpp"

namespace alloctap {

/// Counts a record as `size` live bytes, without a sample weight.
struct AsRecorded {
  static std::uint64_t bytes(const BlockRecord& record) noexcept { return record.size; }
};

/// The consumer of events, called directly or by a queue. Applies each event to the container and
/// counts the result in the calling thread's stats. Allocations per stack are counted earlier, by
/// the recorder.
///
/// A reallocation begins with `take`, which removes the block's record and counts a free. If the
/// reallocation fails, `put_back` restores the record and the count. So a snapshot or a fork during
/// the reallocation sees consistent sums. `count_pair` counts an allocation and a free that
/// cancelled out in a queue.
///
/// `Owner` has static functions, so that the compiler knows the addresses of the tables: `meta()`
/// returns the container, `threads()` the table of stats, `mine()` the calling thread's stats. If
/// `mine()` returns nullptr (out of memory), the event is applied but counted as dropped.
///
/// If `Owner::kKeepsPeak`, `Owner::on_peak_passed(record)` runs when the live bytes fall from a
/// peak. `record` was just removed; its block was live at the peak. The call is the last action for
/// an event, because `on_peak_passed` may temporarily leave the recording scope.
///
/// `Weigh::bytes(record)` returns how many live bytes a record represents; a sample represents more
/// than its own size. Thread-safe; runs inside malloc.
template <MetaContainer Meta, class Owner>
class BlockTracker {
 public:
  ALLOCTAP_ALWAYS_INLINE static void record_allocation(
      const RecordedAllocation& allocation) noexcept {
    count_allocation<AsRecorded>(allocation.record,
                                 meta().insert(allocation.pointer, allocation.record));
  }

  /// Starts the index lookup for an allocation at `pointer`; pass the result to `record_expected`.
  ALLOCTAP_ALWAYS_INLINE static auto expect(const void* pointer) noexcept
    requires(features_of<IndexFeatures, Meta>().expect)
  {
    return meta().expect(pointer);
  }

  /// Stores a record; `expected` is the result of `expect`, `stats` is the calling thread's.
  template <class Expected>
  ALLOCTAP_ALWAYS_INLINE static void record_expected(const RecordedAllocation& allocation,
                                                     Expected expected, ThreadStats& stats) noexcept
    requires(features_of<IndexFeatures, Meta>().expect)
  {
    if (meta().try_insert(allocation.pointer, allocation.record, expected)) [[likely]] {
      return live().add(stats.live, allocation.record.size);
    }
    record_slow(allocation.pointer, allocation.record, stats);
  }

  ALLOCTAP_ALWAYS_INLINE static void record_deallocation(void* pointer) noexcept {
    static_cast<void>(take(pointer));
  }

  /// Removes the record of a freed block; `stats` is the calling thread's.
  ALLOCTAP_ALWAYS_INLINE static void record_deallocation(void* pointer,
                                                         ThreadStats& stats) noexcept {
    count_take<AsRecorded>(stats, meta().take(pointer));
  }

  /// Like `record_deallocation`, but returns false and counts nothing if `pointer` is unknown.
  ALLOCTAP_ALWAYS_INLINE static bool record_known_deallocation(void* pointer,
                                                               ThreadStats& stats) noexcept {
    const BlockRecord record = meta().take(pointer);
    if (record.stack == kNoStackId) [[unlikely]] {
      return false;
    }
    count_gone<AsRecorded>(stats, record);
    return true;
  }

  /// Removes the record at `pointer` and counts a free. If the pointer is unknown, counts an
  /// unmatched free and returns a record whose `stack` is `kNoStackId`.
  ALLOCTAP_ALWAYS_INLINE static BlockRecord take(void* pointer) noexcept {
    const BlockRecord record = meta().take(pointer);
    count_taken<AsRecorded>(record);
    return record;
  }

  static void put_back(void* pointer, const BlockRecord& record) noexcept {
    count_put_back<AsRecorded>(record, meta().insert(pointer, record).kept);
  }

  // Functions that count records stored in containers other than `Meta`. `outcome` and `kept` are
  // results of inserting the record into that container.

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE static void count_allocation(const BlockRecord& record,
                                                      const InsertOutcome& outcome) noexcept {
    ThreadStats* stats = mine();
    if (stats != nullptr) count_insert<Weigh>(*stats, outcome, record);
  }

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE static void count_taken(const BlockRecord& record) noexcept {
    ThreadStats* stats = mine();
    if (stats != nullptr) count_take<Weigh>(*stats, record);
  }

  template <class Weigh>
  static void count_put_back(const BlockRecord& record, bool kept) noexcept {
    ThreadStats* stats = mine();
    if (stats == nullptr) return;
    if (!kept) {
      ++stats->events.dropped;
      return;
    }
    stats->recorded.uncount_deallocation();
    stats->freed.uncount(record.stack, record.size);
    live().add(stats->live, Weigh::bytes(record));
  }

  static void count_pair(const BlockRecord& record) noexcept {
    ThreadStats* stats = mine();
    if (stats == nullptr) return;
    live().add(stats->live, record.size);
    count_gone<AsRecorded>(*stats, record);
  }

 private:
  ALLOCTAP_ALWAYS_INLINE static Meta& meta() noexcept { return Owner::meta(); }
  ALLOCTAP_ALWAYS_INLINE static LiveBytes& live() noexcept { return Owner::threads().live(); }

  ALLOCTAP_ALWAYS_INLINE static ThreadStats* mine() noexcept {
    ThreadStats* stats = Owner::mine();
    if (stats == nullptr) [[unlikely]] {
      Owner::threads().count_dropped();
    }
    return stats;
  }

  /// Takes the record by value, so that the caller's record can stay in registers.
  ALLOCTAP_NOINLINE static void record_slow(void* pointer, BlockRecord record,
                                            ThreadStats& stats) noexcept {
    const os::ErrnoGuard preserve_error;
    count_insert<AsRecorded>(stats, meta().insert(pointer, record), record);
  }

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE static void count_insert(ThreadStats& stats, const InsertOutcome& outcome,
                                                  const BlockRecord& record) noexcept {
    live().add(stats.live, Weigh::bytes(record));
    if (outcome.replaced.stack != kNoStackId) [[unlikely]] {
      ++stats.events.unseen_frees;
      count_gone<Weigh>(stats, outcome.replaced);
    }
    if (!outcome.kept) [[unlikely]] {
      ++stats.events.dropped;
      count_gone<Weigh>(stats, record);
    }
  }

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE static void count_take(ThreadStats& stats,
                                                const BlockRecord& record) noexcept {
    if (record.stack == kNoStackId) [[unlikely]] {
      ++stats.events.unmatched_frees;
    } else {
      count_gone<Weigh>(stats, record);
    }
  }

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE static void count_gone(ThreadStats& stats,
                                                const BlockRecord& record) noexcept {
    stats.recorded.count_deallocation();
    stats.freed.count(record.stack, record.size);
    if (live().remove(stats.live, Weigh::bytes(record))) [[unlikely]] {
      notify_peak_passed(record);
    }
  }

  /// Takes the record by value, so that the caller's record can stay in registers.
  ALLOCTAP_NOINLINE static void notify_peak_passed(BlockRecord record) noexcept {
    if constexpr (Owner::kKeepsPeak) {
      const os::ErrnoGuard preserve_error;
      Owner::on_peak_passed(record);
    }
  }
};

}  // namespace alloctap
