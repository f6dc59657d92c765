/// Peak snapshots: live bytes by stack when the heap was largest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// A CPU time limit: 1/`kShareOfTime` of the time since the first query, plus `kAtOnce`. Times are
/// nanoseconds of any monotonic clock. Not thread-safe.
class TimeBudget {
 public:
  static constexpr std::int64_t kShareOfTime = 128;
  static constexpr std::int64_t kAtOnce = 4'000'000;

  /// Returns whether less time was spent than is allowed at `now`.
  [[nodiscard]] bool has_left(std::int64_t now) noexcept {
    if (!asked_) begin_ = now;
    asked_ = true;
    return spent_ < kAtOnce + (now - begin_) / kShareOfTime;
  }

  void spend(std::int64_t time) noexcept { spent_ += time; }

  /// Returns the time to charge for a snapshot: its CPU time, because other threads run while this
  /// thread is preempted, or `elapsed` if the wait for the world timed out. Never more than
  /// `elapsed`, because some systems round CPU time up to long steps.
  [[nodiscard]] static std::int64_t cost(std::int64_t cpu, std::int64_t elapsed,
                                         bool waited_in_vain) noexcept {
    return waited_in_vain ? elapsed : std::min(cpu, elapsed);
  }

 private:
  bool asked_ = false;
  std::int64_t begin_ = 0;
  std::int64_t spent_ = 0;
};

/// Takes a peak snapshot when the live bytes begin to fall from a new peak (`LiveBytes::remove`).
/// The thread whose free begins the fall stops the world. The last snapshot therefore shows the
/// highest peak, except in a heap that has grown beyond that peak and has not begun to fall: then
/// the current heap is the peak.
///
/// A snapshot sums up all threads' counters per stack. Because a heap may often reach new peaks,
/// the CPU time for snapshots is limited to 1/128 of the time since `TimeBudget` was first asked.
/// If the limit prevents a snapshot, the last snapshot still shows an earlier peak, with the live
/// bytes of that peak. No snapshot is taken while another thread dumps, or if the world cannot be
/// stopped.
///
/// Constant-initialized, never destroyed.
class PeakTracker {
 public:
  constexpr PeakTracker() noexcept = default;

  /// Takes a snapshot if possible. `gone` was just removed; its block was live at the peak. Runs
  /// inside malloc, holds no lock, and temporarily leaves the caller's recording scope.
  void on_peak_passed(const BlockRecord& gone, const RecordedData& data) noexcept;

  /// Resets `flight_` in the child of a fork, which lacks a thread that was taking a snapshot.
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
    /// Sums per stack, indexed by StackId.
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
  /// Lets one thread at a time take a snapshot; other threads wait until it is taken.
  SingleFlight flight_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/peak_tracker.hpp"
#endif
