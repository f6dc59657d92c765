/// An observer that finds buffers that are reallocated repeatedly as they grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/game/growth_chains.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/control_scope.hpp"
#include "alloctap/runtime/join_equal.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// One suggestion: at `stack`, `reserve(sums.largest_bytes)` would have saved `sums.steps`
/// reallocations, and copying up to `sums.bytes_copied` bytes.
struct GrowthAdvice {
  StackId stack = kNoStackId;
  GrowthSums sums = {};
};

/// An observer that finds buffers that grow step by step, by `realloc` or as std::vector does:
///
///     using Observers = alloctap::GrowthAdvisor<>;
///     ...
///     const auto advice = alloctap::GrowthAdvisor<>::advice();
///
/// `GrowthChains` documents what is detected and missed. If several trackers use this observer,
/// give each a different `Name`, any type. Costs about ten nanoseconds per event and 60 KiB per
/// thread. Takes no lock inside malloc.
template <class Name = void>
class GrowthAdvisor {
 public:
  static constexpr ObserverFeatures features{.on_reallocate = true};

  static void on_track(const ObservedBlock& block) noexcept {
    if (GrowthChains* chains = mine()) chains->come(block);
  }
  static void on_untrack(const ObservedBlock& block) noexcept {
    if (GrowthChains* chains = mine()) chains->go(block);
  }
  static void on_reallocate(const ObservedBlock& before, const ObservedBlock& after) noexcept {
    if (GrowthChains* chains = mine()) chains->move(before, after);
  }

  /// Returns the suggestions of all threads, sorted by bytes copied, highest first. Stops the other
  /// threads meanwhile. Control plane, not for observers; fails inside a dump.
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

  /// Returns the number of chains that `advice` omits, because tables were full. Control plane.
  [[nodiscard]] static std::uint64_t lost() noexcept {
    std::uint64_t lost = 0;
    const ControlScope hold;
    static_cast<void>(ThreadStates::stop_world());
    PerThread<Mine>::for_each([&](const Mine& thread) { lost += thread.chains.lost(); });
    ThreadStates::resume_world();
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
    const ControlScope hold;
    static_cast<void>(ThreadStates::stop_world());
    PerThread<Mine>::for_each([&](const Mine& thread) {
      thread.chains.for_each([&](StackId stack, const GrowthSums& sums) {
        complete = list.push_back({stack, sums}) && complete;
      });
    });
    ThreadStates::resume_world();
    return complete;
  }
};

static_assert(Observer<GrowthAdvisor<>>);
static_assert(CheckedObserver<GrowthAdvisor<>>::ok);

/// Returns a one-line description without the stack, which `Tracker::name_stacks` can symbolize.
[[nodiscard]] std::string describe(const GrowthAdvice& advice);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/growth_advisor.hpp"
#endif
