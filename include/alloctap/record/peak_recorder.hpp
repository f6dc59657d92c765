/// The part of a recorder that keeps who held the memory when it was highest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "alloctap/macros.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/confinement.hpp"
#include "alloctap/record/freed_totals.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/runtime/single_flight.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/runtime/world_gate.hpp"
#include "alloctap/sample/stack_estimates.hpp"
#include "alloctap/snapshot/time_budget.hpp"
#include "alloctap/snapshot/timeline.hpp"

namespace alloctap {

/// Takes a picture of what is live, by stack, each time the live bytes begin to fall
/// from a new peak (`LiveBytes::remove`); for a `Recorder` that derives from it. The thread whose
/// free begins the fall takes it, on its way, while all others wait. So at the end the last picture
/// is that of the peak, or no fall has come since, and the peak is now.
///
/// It takes as long as adding up what all threads have counted for their stacks. A program that
/// falls and rises to a new peak again and again would be slowed down, so pictures get at most a
/// processor's time of 1/128 of what has passed since the first one began; where that keeps one
/// from being taken, the picture is of an earlier peak, and the reader sees how much it holds. None
/// is taken while another thread dumps, or where one was stopped inside the tracker, or where a
/// queue delivers events later.
///
/// Constant-initialized, never destroyed.
template <class Recorder>
class PeakRecorder {
 public:
  /// As `BlockTracker` calls it: inside malloc, in a recording section, with no lock held.
  ALLOCTAP_NOINLINE static void on_peak_passed(const BlockRecord& gone) noexcept
    requires requires { requires Recorder::Queue::kDeliversAtOnce; }
  {
    WorldGate::Flag& recording = this_thread_slot().state->recording;
    WorldGate::leave(recording);
    if (turn_.try_begin()) {
      take_if_possible(gone);
      turn_.end();
    } else {
      // What others free before the gate is closed is missing in the picture, and the thread that
      // closes it may lose its processor first.
      turn_.await_end(kTimeoutNs);
    }
    WorldGate::enter(recording);
  }

  /// In the child of a fork, alone: whoever was taking a picture is not there.
  static void after_fork() noexcept { turn_.after_fork(); }

  /// Empty where there is none yet. For who holds the control lock.
  [[nodiscard]] static const Peak& peak() noexcept { return state_.get().peak; }

 private:
  static constexpr std::int64_t kTimeoutNs = 50'000'000;

  struct Sums {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
  };

  static void take_if_possible(const BlockRecord& gone) noexcept {
    // Closing the gate and measuring the cost take system calls.
    if (os::threads_are_confined.load(std::memory_order_relaxed)) return;
    if (!control_lock.try_lock()) return;
    const std::lock_guard hold(control_lock, std::adopt_lock);
    if (state_.get().budget.has_left(os::monotonic_ns())) take(gone);
  }

  static void take(const BlockRecord& gone) noexcept {
    const std::int64_t began = os::monotonic_ns();
    const std::int64_t cpu_began = os::thread_cpu_ns();
    const bool closed = ThreadStates::close_gate(kTimeoutNs);
    if (closed && add_up(gone)) keep();
    Recorder::books().note_picture();
    ThreadStates::open_gate();
    const std::int64_t cpu = os::thread_cpu_ns() - cpu_began;
    const std::int64_t elapsed = os::monotonic_ns() - began;
    state_.get().budget.spend(TimeBudget::cost(cpu, elapsed, !closed));
  }

  static bool add_up(const BlockRecord& gone) noexcept {
    ArenaArray<Sums>& sums = state_.get().sums;
    sums.clear();
    if (!sums.resize(Recorder::stacks().end_id())) return false;
    const SamplingView view = Recorder::sampling();
    if (view.estimates == nullptr) {
      add(sums[gone.stack], 1, gone.size);
      return add_totals(sums);
    }
    const auto add_sample = [&](const BlockRecord& sample) {
      const double weight = view.weight(sample.size);
      add(sums[sample.stack], rounded(weight), rounded(weight * static_cast<double>(sample.size)));
    };
    Recorder::for_each_live([&](const void*, const BlockRecord& sample) { add_sample(sample); });
    add_sample(gone);
    return true;
  }

  /// False where a thread could not count all its frees.
  static bool add_totals(ArenaArray<Sums>& sums) noexcept {
    bool complete = true;
    Recorder::for_each_totals([&](const ThreadStats& totals) {
      totals.stacks.for_each([&](StackId stack, const AllocationTotals& allocated) {
        add(sums[stack], allocated.allocations, allocated.allocated_bytes);
      });
      totals.freed.for_each([&](StackId stack, const FreedTotals::Entry& freed) {
        add(sums[stack], -freed.blocks, -freed.bytes);
      });
      complete = complete && totals.freed.complete();
    });
    return complete;
  }

  static std::uint64_t rounded(double number) noexcept {
    return static_cast<std::uint64_t>(number + 0.5);
  }

  /// Numbers may have wrapped around below zero.
  static void add(Sums& sums, std::uint64_t blocks, std::uint64_t bytes) noexcept {
    sums.blocks += static_cast<std::int64_t>(blocks);
    sums.bytes += static_cast<std::int64_t>(bytes);
  }

  static void keep() noexcept {
    State& state = state_.get();
    Peak& peak = state.spare;
    peak.time_ns = os::wall_clock_ns();
    peak.live_bytes = 0;
    peak.stacks.clear();
    for (StackId stack = 0; stack < state.sums.size(); ++stack) {
      const Sums& sums = state.sums[stack];
      if (sums.blocks <= 0) continue;
      const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(sums.bytes, 0));
      if (!peak.stacks.push_back({stack, static_cast<std::uint64_t>(sums.blocks), bytes})) return;
      peak.live_bytes += bytes;
    }
    std::swap(state.peak, state.spare);
  }

  struct State {
    Peak peak;
    /// What the next picture is written to.
    Peak spare;
    /// By StackId.
    ArenaArray<Sums> sums;
    TimeBudget budget;
  };

  /// Behind the control lock.
  static inline constinit NoDestroyLazy<State> state_;
  /// Whose turn it is to look whether a picture is to be taken.
  static inline constinit SingleFlight turn_;
};

}  // namespace alloctap
