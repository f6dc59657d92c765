/// Where events change the container, and are counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/record/thread_stats.hpp"

namespace alloctap {

/// Records that stand for themselves.
struct AsRecorded {
  static std::uint64_t bytes(const BlockRecord& record) noexcept { return record.size; }
};

/// What a queue delivers to: applies each event to `Meta` and counts what came of it, in the totals
/// of the thread that delivers. Allocations per stack are not its affair: the recorder counts those
/// when they are made.
///
/// `take` removes a record for a reallocation and counts it as given back, so that a snapshot in
/// between, or the child of a fork, sees sums that add up; `put_back` undoes it. `count_pair`
/// stands for an allocation and its free that met before either arrived.
///
/// `Totals::mine()` gives the calling thread's `ThreadStats*`; nullptr where the system has no
/// memory for them, and then the event is applied, but counted as dropped alone. `Totals::meta()`
/// gives the container: a function, so that the way to a record begins at a place that is known at
/// compile time, and not at a pointer. Thread-safe; runs inside malloc. Constant-initialized, never
/// destroyed.
///
/// `Totals` may have `on_peak_passed(record)`: the live bytes have just fallen from a peak, and the
/// block of that record, which is out of the container already, was still part of it. Comes last in
/// what a call does here, and may leave the recording section for a moment.
///
/// `Weigh::bytes(record)` is how many live bytes a record stands for; samples stand for more than
/// themselves.
template <MetaContainer Meta, class Totals>
class BlockTracker {
 public:
  ALLOCTAP_ALWAYS_INLINE void record_allocation(const RecordedAllocation& allocation) noexcept {
    count_allocation<AsRecorded>(allocation.record,
                                 meta().insert(allocation.pointer, allocation.record));
  }

  /// An allocation at `pointer` will be recorded soon: by `record_expected`, with the result.
  ALLOCTAP_ALWAYS_INLINE auto expect(const void* pointer) noexcept
    requires requires(Meta& meta) { meta.expect(pointer); }
  {
    return meta().expect(pointer);
  }

  /// `totals` are the calling thread's.
  template <class Expected>
  ALLOCTAP_ALWAYS_INLINE void record_expected(const RecordedAllocation& allocation,
                                              Expected expected, ThreadStats& totals) noexcept
    requires requires(Meta& meta) {
      meta.try_insert(allocation.pointer, allocation.record, expected);
    }
  {
    if (meta().try_insert(allocation.pointer, allocation.record, expected)) [[likely]] {
      return live_.add(totals.live, allocation.record.size);
    }
    record_with_care(allocation.pointer, allocation.record, totals);
  }

  ALLOCTAP_ALWAYS_INLINE void record_deallocation(void* pointer) noexcept {
    static_cast<void>(take(pointer));
  }

  /// `totals` are the calling thread's.
  ALLOCTAP_ALWAYS_INLINE void record_deallocation(void* pointer, ThreadStats& totals) noexcept {
    count_take<AsRecorded>(totals, meta().take(pointer));
  }

  /// The same; where nothing is known at `pointer` it counts nothing and is false.
  ALLOCTAP_ALWAYS_INLINE bool record_known_deallocation(void* pointer,
                                                        ThreadStats& totals) noexcept {
    const BlockRecord record = meta().take(pointer);
    if (record.stack == kNoStackId) [[unlikely]] {
      return false;
    }
    count_gone<AsRecorded>(totals, record);
    return true;
  }

  /// An unknown pointer counts as an unmatched free; the record's `stack` is `kNoStackId` then.
  ALLOCTAP_ALWAYS_INLINE BlockRecord take(void* pointer) noexcept {
    const BlockRecord record = meta().take(pointer);
    count_taken<AsRecorded>(record);
    return record;
  }

  void put_back(void* pointer, const BlockRecord& record) noexcept {
    count_put_back<AsRecorded>(record, meta().insert(pointer, record).kept);
  }

  /// These count what was done elsewhere than in `Meta`: `outcome` and `kept` are what came of it.
  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE void count_allocation(const BlockRecord& record,
                                               const InsertOutcome& outcome) noexcept {
    ThreadStats* totals = mine();
    if (totals != nullptr) count_insert<Weigh>(*totals, outcome, record);
  }

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE void count_taken(const BlockRecord& record) noexcept {
    ThreadStats* totals = mine();
    if (totals != nullptr) count_take<Weigh>(*totals, record);
  }

  template <class Weigh>
  void count_put_back(const BlockRecord& record, bool kept) noexcept {
    ThreadStats* totals = mine();
    if (totals == nullptr) return;
    if (!kept) {
      ++totals->events.dropped;
      return;
    }
    totals->recorded.uncount_deallocation();
    totals->freed.uncount(record.stack, record.size);
    live_.add(totals->live, Weigh::bytes(record));
  }

  void count_pair(const BlockRecord& record) noexcept {
    ThreadStats* totals = mine();
    if (totals == nullptr) return;
    live_.add(totals->live, record.size);
    count_gone<AsRecorded>(*totals, record);
  }

  /// For `ThreadStats` that are new, and never destroyed.
  void join(ThreadStats& totals) noexcept {
    live_.join(totals.live);
    totals.next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(totals.next, &totals, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
  }

  /// Calls `visit(const ThreadStats&)` for all that have joined. Threads may go on meanwhile,
  /// where `visit` uses only what is atomic.
  void for_each_joined(auto&& visit) const {
    for (const ThreadStats* totals = first_.load(std::memory_order_acquire); totals != nullptr;
         totals = totals->next) {
      visit(*totals);
    }
  }

  /// Counts what was lost on the way of a thread that has no totals.
  ALLOCTAP_NOINLINE void count_dropped() noexcept {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t dropped_without_totals() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

  /// The most bytes that were live, as `LiveBytes::peak`.
  [[nodiscard]] std::uint64_t peak_live_bytes() const noexcept { return live_.peak(); }

  /// What is live now.
  [[nodiscard]] std::uint64_t live_bytes() const noexcept { return live_.live(); }

  /// As `LiveBytes::note_picture`.
  void note_picture() noexcept { live_.note_picture(); }

 private:
  ALLOCTAP_ALWAYS_INLINE static Meta& meta() noexcept { return Totals::meta(); }

  ALLOCTAP_ALWAYS_INLINE ThreadStats* mine() noexcept {
    ThreadStats* totals = Totals::mine();
    if (totals == nullptr) [[unlikely]] {
      count_dropped();
    }
    return totals;
  }

  /// By value: the record need not be in memory for the calls that do not come here.
  ALLOCTAP_NOINLINE void record_with_care(void* pointer, BlockRecord record,
                                          ThreadStats& totals) noexcept {
    const os::ErrnoGuard preserve_error;
    count_insert<AsRecorded>(totals, meta().insert(pointer, record), record);
  }

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE void count_insert(ThreadStats& totals, const InsertOutcome& outcome,
                                           const BlockRecord& record) noexcept {
    live_.add(totals.live, Weigh::bytes(record));
    if (outcome.replaced.stack != kNoStackId) [[unlikely]] {
      ++totals.events.unseen_frees;
      count_gone<Weigh>(totals, outcome.replaced);
    }
    if (!outcome.kept) [[unlikely]] {
      ++totals.events.dropped;
      count_gone<Weigh>(totals, record);
    }
  }

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE void count_take(ThreadStats& totals, const BlockRecord& record) noexcept {
    if (record.stack == kNoStackId) [[unlikely]] {
      ++totals.events.unmatched_frees;
    } else {
      count_gone<Weigh>(totals, record);
    }
  }

  template <class Weigh>
  ALLOCTAP_ALWAYS_INLINE void count_gone(ThreadStats& totals, const BlockRecord& record) noexcept {
    totals.recorded.count_deallocation();
    totals.freed.count(record.stack, record.size);
    if (live_.remove(totals.live, Weigh::bytes(record))) [[unlikely]] {
      notify_peak_passed(record);
    }
  }

  /// As above.
  ALLOCTAP_NOINLINE static void notify_peak_passed(BlockRecord record) noexcept {
    const os::ErrnoGuard preserve_error;
    if constexpr (requires { Totals::on_peak_passed(record); }) Totals::on_peak_passed(record);
  }

  LiveBytes live_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<ThreadStats*> first_{nullptr};
};

}  // namespace alloctap
