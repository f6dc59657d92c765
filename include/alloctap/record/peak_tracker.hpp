/// Who held the memory when it was highest.
#pragma once

#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/time_budget.hpp"
#include "alloctap/record/timeline_point.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/runtime/single_flight.hpp"

namespace alloctap {

/// Takes a peak snapshot, which is what is live by stack, each time the live bytes begin to fall
/// from a new peak (`LiveBytes::remove`). The thread whose free begins the fall takes it, while all
/// others wait. So at the end the last peak snapshot is that of the peak, or there was no fall
/// since, and the peak is now.
///
/// It takes as long as adding up what all threads have counted for their stacks. A program that
/// falls and rises to a new peak again and again would be slowed down, so peak snapshots get at
/// most a processor's time of 1/128 of what has passed since the first one began. If that keeps one
/// from being taken, the last is of an earlier peak, and the reader sees how much it holds. None is
/// taken while another thread dumps, or if one was stopped inside the tracker.
///
/// Constant-initialized, never destroyed.
class PeakTracker {
 public:
  constexpr PeakTracker() noexcept = default;

  /// The live bytes fell by `gone`, which was part of the peak and is not in the tables any more.
  /// Runs inside malloc, in a recording scope, with no lock held; leaves the scope for a moment.
  void on_peak_passed(const BlockRecord& gone, const RecordedData& data) noexcept;

  /// In the child of a fork, alone: a thread that was taking a peak snapshot is not there.
  void after_fork() noexcept { flight_.after_fork(); }

  /// Returns the last one; empty if there is none yet. Behind the control lock.
  [[nodiscard]] const Peak& last() noexcept { return state_.get().peak; }

 private:
  static constexpr std::int64_t kTimeoutNs = 50'000'000;

  struct Sums {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
  };

  struct State {
    Peak peak;
    /// What the next one is written to.
    Peak spare;
    /// By StackId.
    ArenaArray<Sums> sums;
    TimeBudget budget;
  };

  void take_if_possible(const BlockRecord& gone, const RecordedData& data) noexcept;
  void take(const BlockRecord& gone, const RecordedData& data) noexcept;
  bool add_up(const BlockRecord& gone, const RecordedData& data) noexcept;
  void add_samples(const BlockRecord& gone, const RecordedData& data) noexcept;
  bool add_stats(ThreadStatsTable& threads) noexcept;
  void add(StackId stack, std::uint64_t blocks, std::uint64_t bytes) noexcept;
  void keep() noexcept;

  /// Behind the control lock.
  NoDestroyLazy<State> state_;
  /// For the decision whether one is taken.
  SingleFlight flight_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/peak_tracker.hpp"
#endif
