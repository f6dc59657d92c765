/// Tells where room should be reserved at once, instead of growing step by step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/game/growth_chains.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/join_equal.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// What `reserve(sums.largest_bytes)` by `stack` would have saved: `sums.steps` growths, and the
/// copying of `sums.bytes_copied`.
struct GrowthAdvice {
  StackId stack = kNoStackId;
  GrowthSums sums = {};
};

/// An observer that looks for blocks that grow step by step, by `realloc` or as a vector does:
///
///     using Observers = alloctap::GrowthAdvisor<>;
///     ...
///     const auto advice = alloctap::GrowthAdvisor<>::advice();
///
/// What counts, and what is missed, says `GrowthChains`. Advisors with another `Name`, any type,
/// are other ones: for several trackers. Costs each event about ten nanoseconds and each thread 60
/// KiB, no more; no thread waits for another.
template <class Name = void>
class GrowthAdvisor {
 public:
  static void on_track(const ObservedBlock& block) noexcept {
    if (GrowthChains* chains = mine()) chains->come(block);
  }
  static void on_untrack(const ObservedBlock& block) noexcept {
    if (GrowthChains* chains = mine()) chains->go(block);
  }
  static void on_reallocate(const ObservedBlock& before, const ObservedBlock& after) noexcept {
    if (GrowthChains* chains = mine()) chains->move(before, after);
  }

  /// By what was copied, most first, of all threads together. Other threads wait meanwhile. Not
  /// inside a hook or an observer; fails in what an output calls.
  [[nodiscard]] static Result<ArenaArray<GrowthAdvice>> advice() {
    if (holds_tracker_lock()) {
      return Status::failed_precondition(
          "GrowthAdvisor: this thread is inside a dump: what an output calls may not ask for "
          "advice");
    }
    const ReentrancyGuard guard;
    ArenaArray<GrowthAdvice> list;
    if (!collect(list)) {
      return Status::resource_exhausted("GrowthAdvisor: the system has no memory for advice");
    }
    join_equal(list, &GrowthAdvice::stack,
               [](GrowthAdvice& sum, const GrowthAdvice& next) { sum.sums += next.sums; });
    std::sort(list.begin(), list.end(), [](const GrowthAdvice& a, const GrowthAdvice& b) {
      if (a.sums.bytes_copied != b.sums.bytes_copied) {
        return a.sums.bytes_copied > b.sums.bytes_copied;
      }
      return a.sums.steps != b.sums.steps ? a.sums.steps > b.sums.steps : a.stack < b.stack;
    });
    return list;
  }

  /// How many chains are in no advice because their thread had no room for one more stack. Where
  /// `advice` may be asked for.
  [[nodiscard]] static std::uint64_t lost() noexcept {
    std::uint64_t lost = 0;
    const std::lock_guard hold(control_lock);
    static_cast<void>(ThreadStates::close_gate());
    PerThread<Mine>::for_each([&](const Mine& thread) { lost += thread.chains.lost(); });
    ThreadStates::open_gate();
    return lost;
  }

 private:
  struct Mine {
    std::uint32_t generation = 0;
    GrowthChains chains;
  };

  static GrowthChains* mine() noexcept {
    ThreadState* const thread = ThreadStates::mine();
    Mine* const mine = thread == nullptr ? nullptr : PerThread<Mine>::of(*thread);
    if (mine == nullptr) return nullptr;
    if (mine->generation != thread->generation) {
      mine->chains.begin_thread();
      mine->generation = thread->generation;
    }
    return &mine->chains;
  }

  static bool collect(ArenaArray<GrowthAdvice>& list) noexcept {
    bool complete = true;
    const std::lock_guard hold(control_lock);
    static_cast<void>(ThreadStates::close_gate());
    PerThread<Mine>::for_each([&](const Mine& thread) {
      thread.chains.for_each([&](StackId stack, const GrowthSums& sums) {
        complete = list.push_back({stack, sums}) && complete;
      });
    });
    ThreadStates::open_gate();
    return complete;
  }
};

static_assert(Observer<GrowthAdvisor<>>);
static_assert(kObservesReallocations<GrowthAdvisor<>>);

/// A line for people; what the stack is called says `Tracker::name_stacks`, or a report.
[[nodiscard]] std::string describe(const GrowthAdvice& advice);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/growth_advisor.hpp"
#endif
