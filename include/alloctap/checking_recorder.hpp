/// A recorder that looks after blocks, too.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/error_preserver.hpp"
#include "alloctap/recorder.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// The `CheckingSink` of a tracker whose `Config::Checks` has something to check. It tells
/// `Config::on_misuse(const Misuse&)`, where there is one, of each fault that is new: inside
/// malloc, on the thread that the fault was found on, which may allocate there.
///
/// All static, constant-initialized and never destroyed, as `Recorder`.
template <class Config>
class CheckingRecorder : public Recorder<Config> {
 public:
  using Base = Recorder<Config>;
  using Checks = typename Config::Checks;

  static BlockPlan plan_block(const WantedBlock& wanted) noexcept {
    const os::ErrorPreserver preserve_error;
    const RecordingSection section;
    return checker_.plan(wanted, hint_of(section));
  }

  static void* adopt_block(const BlockPlan& plan, void* block, const WantedBlock& wanted,
                           const CallOrigin& origin) noexcept {
    const os::ErrorPreserver preserve_error;
    const RecordingSection section;
    return checker_.adopt(plan, block, wanted, call_of(section, origin));
  }

  static void drop_plan(const BlockPlan& plan) noexcept {
    const os::ErrorPreserver preserve_error;
    const RecordingSection section;
    checker_.drop(plan, hint_of(section));
  }

  static ReleasePlan release_block(const DeallocationEvent& gone) noexcept {
    return check(gone.origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.release(gone, call, found);
    });
  }

  static bool retire_block(const ReleasePlan& plan) noexcept {
    const os::ErrorPreserver preserve_error;
    const RecordingSection section;
    return checker_.retire(plan, hint_of(section));
  }

  static bool next_evicted(ReleasePlan& plan, const CallOrigin& origin) noexcept {
    if (!checker_.is_overfull()) return false;
    return check(origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.evict(plan, call, found);
    });
  }

  static BlockExtent before_reallocate(const DeallocationEvent& gone) noexcept {
    return check(gone.origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.before_reallocate(gone, call, found);
    });
  }

  static BlockExtent usable_size(const void* block) noexcept { return checker_.extent(block); }

  static void note_unchecked(const void* block) noexcept { checker_.note_unchecked(block); }

  /// Inside another call of the tracker's own, which may be in a section already.
  static ReleasePlan release_unchecked(const void* block) noexcept {
    return checker_.release_unchecked(block);
  }

  /// Looks at all blocks now; the gate is closed. Hand the result to `act`, with the gate open.
  static FoundMisuses sweep() noexcept {
    FoundMisuses found;
    checker_.sweep({.thread = os::current_thread_id(), .time_ns = os::coarse_monotonic_ns()},
                   found);
    return found;
  }

  static void act(const FoundMisuses& found) noexcept {
    for (const Misuse* misuse : found) {
      if constexpr (requires { Config::on_misuse(*misuse); }) Config::on_misuse(*misuse);
      if (Checks::settings().abort_on_misuse) std::abort();
    }
  }

  static const MisuseLog& misuses() noexcept { return checker_.log(); }

 private:
  static std::uint32_t hint_of(const RecordingSection& section) noexcept {
    return section.thread() == nullptr ? 0 : section.thread()->number;
  }

  static BlockCall call_of(const RecordingSection& section, const CallOrigin& origin) noexcept {
    ThreadTotals* const totals = section.thread() == nullptr ? nullptr : Base::mine();
    if (totals == nullptr) return {.stack = kUnknownStack};
    ThreadState& thread = *section.thread();
    return {.stack = Base::capture(thread, *totals, origin),
            .thread = thread.thread_id.load(std::memory_order_relaxed),
            .time_ns = os::coarse_monotonic_ns()};
  }

  template <class Work>
  static auto check(const CallOrigin& origin, Work&& work) noexcept {
    const os::ErrorPreserver preserve_error;
    FoundMisuses found;
    const auto result = [&] {
      const RecordingSection section;
      return work(call_of(section, origin), found);
    }();
    act(found);
    return result;
  }

  static inline constinit BlockChecker<Checks> checker_;
};

/// Copies what `Sink` found, where it checks; false where the system has no memory for it.
template <class Sink>
[[nodiscard]] bool copy_misuses(Snapshot& snapshot) noexcept {
  bool copied = true;
  if constexpr (requires { Sink::misuses(); }) {
    snapshot.misuses_left_out = Sink::misuses().left_out();
    Sink::misuses().for_each([&](const CountedMisuse& misuse) {
      copied = copied && snapshot.misuses.push_back(misuse);
    });
  }
  return copied;
}

/// What the hook of a tracker with that `Config` feeds.
template <class Config>
using RecorderOf = typename std::conditional_t<Config::Checks::kChecks,
                                               std::type_identity<CheckingRecorder<Config>>,
                                               std::type_identity<Recorder<Config>>>::type;

}  // namespace alloctap
