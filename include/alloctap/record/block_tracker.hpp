/// Where events change the container, and are counted.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/record/thread_stats_table.hpp"

namespace alloctap {

/// Records that stand for themselves.
struct AsRecorded {
  static std::uint64_t bytes(const BlockRecord& record) noexcept { return record.size; }
};

/// What events go to, or what a queue delivers them to: applies each to the container and counts
/// what came of it, in the stats of the thread that delivers. Allocations per stack are counted by
/// the recorder, when they are made.
///
/// `take` removes a record for a reallocation and counts it as freed, so that a snapshot in
/// between, or the child of a fork, sees sums that add up; `put_back` undoes it. `count_pair`
/// counts an allocation and its free that met before either arrived.
///
/// `Owner` has static functions, so that the way to a record begins at an address that is known at
/// compile time: `meta()`, the container; `threads()`, the table of stats; `mine()`, the calling
/// thread's stats, or nullptr if the system has no memory for them: then the event is applied, but
/// counted as dropped. If `Owner::kKeepsPeak`, `Owner::on_peak_passed(record)` is called when the
/// live bytes have just fallen from a peak. The block of that record was still part of it, and is
/// out of the container already. The call comes last, and may leave the recording scope for a
/// moment.
///
/// `Weigh::bytes(record)` is how many live bytes a record stands for; samples stand for more than
/// themselves. Thread-safe; runs inside malloc.
template <MetaContainer Meta, class Owner>
class BlockTracker {
 public:
  ALLOCTAP_ALWAYS_INLINE static void record_allocation(
      const RecordedAllocation& allocation) noexcept {
    count_allocation<AsRecorded>(allocation.record,
                                 meta().insert(allocation.pointer, allocation.record));
  }

  /// Prepares for an allocation at `pointer`: `record_expected` takes the result.
  ALLOCTAP_ALWAYS_INLINE static auto expect(const void* pointer) noexcept
    requires requires(Meta& meta) { meta.expect(pointer); }
  {
    return meta().expect(pointer);
  }

  /// `stats` are the calling thread's.
  template <class Expected>
  ALLOCTAP_ALWAYS_INLINE static void record_expected(const RecordedAllocation& allocation,
                                                     Expected expected, ThreadStats& stats) noexcept
    requires requires(Meta& meta) {
      meta.try_insert(allocation.pointer, allocation.record, expected);
    }
  {
    if (meta().try_insert(allocation.pointer, allocation.record, expected)) [[likely]] {
      return live().add(stats.live, allocation.record.size);
    }
    record_slow(allocation.pointer, allocation.record, stats);
  }

  ALLOCTAP_ALWAYS_INLINE static void record_deallocation(void* pointer) noexcept {
    static_cast<void>(take(pointer));
  }

  /// `stats` are the calling thread's.
  ALLOCTAP_ALWAYS_INLINE static void record_deallocation(void* pointer,
                                                         ThreadStats& stats) noexcept {
    count_take<AsRecorded>(stats, meta().take(pointer));
  }

  /// As `record_deallocation`; if nothing is known at `pointer`, counts nothing and returns false.
  ALLOCTAP_ALWAYS_INLINE static bool record_known_deallocation(void* pointer,
                                                               ThreadStats& stats) noexcept {
    const BlockRecord record = meta().take(pointer);
    if (record.stack == kNoStackId) [[unlikely]] {
      return false;
    }
    count_gone<AsRecorded>(stats, record);
    return true;
  }

  /// Counts an unknown pointer as an unmatched free; the record's `stack` is `kNoStackId` then.
  ALLOCTAP_ALWAYS_INLINE static BlockRecord take(void* pointer) noexcept {
    const BlockRecord record = meta().take(pointer);
    count_taken<AsRecorded>(record);
    return record;
  }

  static void put_back(void* pointer, const BlockRecord& record) noexcept {
    count_put_back<AsRecorded>(record, meta().insert(pointer, record).kept);
  }

  // These count what was done elsewhere than in `Meta`: `outcome` and `kept` are what came of it.

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

  /// The record is a copy, so that callers on the fast path need not have it in memory.
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

  /// The record is a copy, so that callers on the fast path need not have it in memory.
  ALLOCTAP_NOINLINE static void notify_peak_passed(BlockRecord record) noexcept {
    if constexpr (Owner::kKeepsPeak) {
      const os::ErrnoGuard preserve_error;
      Owner::on_peak_passed(record);
    }
  }
};

}  // namespace alloctap
