/// The part of a recorder that finds where a thread counts.
#pragma once

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/record/event_counters.hpp"
#include "alloctap/record/internal_call_filter.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// The totals of each thread that records, which have joined `Recorder::books()`; for a `Recorder`
/// that derives from it.
template <class Recorder, class Config>
class TotalsRecorder : public InternalCallFilter<Config> {
 public:
  /// The calling thread's totals, made if need be; nullptr where the system has no memory.
  static ThreadStats* mine() noexcept {
    ThreadState* thread = ThreadStates::mine();
    return thread == nullptr ? nullptr : PerThread<JoinedTotals>::of(*thread);
  }

  /// The calling thread's totals, for a call of the program in no recording section; nullptr as
  /// `ready`.
  static ThreadStats* totals_outside(const CallOrigin& origin) noexcept {
    const RecordingScope section;
    return ready(section.thread(), origin);
  }

  /// Calls `visit(ThreadStats&)`, or that and a `const ThreadState&`, for each thread's,
  /// those of ended ones included. The caller has closed the gate.
  template <class Visit>
  static void for_each_totals(Visit&& visit) {
    PerThread<JoinedTotals>::for_each(visit);
  }

  /// The sums over all threads. The caller has closed the gate.
  static EventCounters counters() noexcept {
    EventCounters sum;
    for_each_totals([&](const ThreadStats& totals) { sum += totals.counters(); });
    sum.dropped += Recorder::books().dropped_without_totals();
    return sum;
  }

 protected:
  /// The totals to record in, in a recording section of `thread`; nullptr where that is, the system
  /// has no memory for them, or the call is not the program's.
  ALLOCTAP_ALWAYS_INLINE static ThreadStats* ready(ThreadState* thread,
                                                   const CallOrigin& origin) noexcept {
    if (InternalCallFilter<Config>::is_internal_call(origin)) return nullptr;
    ThreadStats* totals = thread == nullptr ? nullptr : PerThread<JoinedTotals>::of(*thread);
    if (totals == nullptr) [[unlikely]] {
      Recorder::books().count_dropped();
    }
    return totals;
  }

  /// The same for who asks later whether the call is the program's: of a thread that has totals, it
  /// may be anybody's.
  ALLOCTAP_ALWAYS_INLINE static ThreadStats* stats_unfiltered(ThreadState* thread,
                                                              const CallOrigin& origin) noexcept {
    ThreadStats* totals =
        thread == nullptr ? nullptr : PerThread<JoinedTotals>::get_if_exists(*thread);
    return totals != nullptr ? totals : make_ready(thread, origin);
  }

 private:
  struct JoinedTotals : ThreadStats {
    JoinedTotals() noexcept { Recorder::books().join(*this); }
  };

  /// By values, so that nothing of the calls that do not come here has to be in memory.
  ALLOCTAP_NOINLINE static ThreadStats* make_ready(ThreadState* thread,
                                                   CallOrigin origin) noexcept {
    return ready(thread, origin);
  }
};

}  // namespace alloctap
