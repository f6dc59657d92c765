/// Peak snapshots: live bytes by stack when the heap was largest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/timeline_point.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/runtime/single_flight.hpp"

namespace alloctap {

/// Grants 1/`kShareOfTime` of the time since the first query, plus `kAtOnce`. Nanoseconds of any
/// monotonic clock. Not thread-safe.
class TimeBudget {
 public:
  static constexpr std::int64_t kShareOfTime = 128;
  static constexpr std::int64_t kAtOnce = 4'000'000;

  /// Whether the budget is not used up.
  [[nodiscard]] bool has_left(std::int64_t now) noexcept {
    if (!asked_) begin_ = now;
    asked_ = true;
    return spent_ < kAtOnce + (now - begin_) / kShareOfTime;
  }

  void spend(std::int64_t time) noexcept { spent_ += time; }

  /// Returns the time to charge for an operation that blocks other threads. That is its CPU time:
  /// while it is preempted, its processor runs another thread. A wait that timed out is charged in
  /// full. `min`, because some systems round CPU time up to steps longer than the operation.
  [[nodiscard]] static std::int64_t cost(std::int64_t cpu, std::int64_t elapsed,
                                         bool waited_in_vain) noexcept {
    return waited_in_vain ? elapsed : std::min(cpu, elapsed);
  }

 private:
  bool asked_ = false;
  std::int64_t begin_ = 0;
  std::int64_t spent_ = 0;
};

/// Takes a peak snapshot each time the live bytes begin to fall from a new peak
/// (`LiveBytes::remove`). The thread whose free begins the fall stops the world for it. At the end
/// the last snapshot is that of the peak, unless the heap never fell from it, so that it is now.
///
/// A snapshot sums up the stacks of all threads. For a heap that reaches new peaks often, their CPU
/// time is limited to 1/128 of the time since the first one began. If the limit prevents one, the
/// last snapshot is of an earlier peak, and shows its live bytes. None is taken while another
/// thread dumps, or if a thread was stopped inside the tracker.
///
/// Constant-initialized, never destroyed.
class PeakTracker {
 public:
  constexpr PeakTracker() noexcept = default;

  /// Takes a snapshot if possible; `gone` was part of the peak and is already removed. Runs inside
  /// malloc, in a recording scope, with no lock held; leaves the scope temporarily.
  void on_peak_passed(const BlockRecord& gone, const RecordedData& data) noexcept;

  /// Resets in the child of a fork, which lacks the thread that was taking a snapshot.
  void after_fork() noexcept { flight_.after_fork(); }

  /// Returns the last peak snapshot; empty if none was taken. The caller holds the control lock.
  [[nodiscard]] const Peak& last() noexcept { return state_.get().peak; }

 private:
  static constexpr std::int64_t kTimeoutNs = 50'000'000;

  struct Sums {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
  };

  struct State {
    Peak peak;
    /// The buffer for the next snapshot.
    Peak spare;
    /// Indexed by StackId.
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

  /// Guarded by the control lock.
  NoDestroyLazy<State> state_;
  /// Guards the decision to take a snapshot.
  SingleFlight flight_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/peak_tracker.hpp"
#endif
