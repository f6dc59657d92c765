/// Recorders that also inject allocation failures or detect heap misuse.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <type_traits>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/check/guarded_blocks.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/memory_faults.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/record/recorder.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// The `RefusingSink` of a tracker whose `Config::Failures` injects failures. Extends the recorder
/// `Base`. Marks internal calls (`Config::is_internal_call`) as the tracker's own (`is_own`).
template <class Config, class Base>
class RefusingRecorder : public Base {
 public:
  using Failures = typename Config::Failures;

  ALLOCTAP_ALWAYS_INLINE static bool may_refuse() noexcept { return Failures::may_refuse(); }

  static bool refuses(const AskedAllocation& asked) noexcept {
    const os::ErrnoGuard preserve_error;
    const bool is_own = asked.is_own || Base::is_internal_call(asked.origin);
    return Failures::refuses({.size = asked.size, .is_own = is_own, .origin = asked.origin},
                             kSurroundings);
  }

  static void end_asked() noexcept { Failures::end_asked(); }

 private:
  static TagId tag() noexcept { return this_thread_tag().load(std::memory_order_relaxed); }
  static TagId tag_around(TagId inner) noexcept { return process_tags.parent(inner); }

  static StackId stack(const CallOrigin& origin) noexcept {
    const RecordingScope section;
    ThreadStats* const totals = section.thread() == nullptr ? nullptr : Base::mine();
    if (totals == nullptr) return kNoStackId;
    return Base::capture(*section.thread(), *totals, origin);
  }

  static bool passes(StackId stack, const AddressRange& code) noexcept {
    const StackFrames frames = Base::stacks().frames(stack);
    return std::any_of(frames.begin(), frames.end(), [&](std::uintptr_t frame) {
      const std::uintptr_t call = call_address(frame);
      return code.start <= call && call < code.end;
    });
  }

  static constexpr AllocationSurroundings kSurroundings{
      .tag = &tag, .tag_around = &tag_around, .stack = &stack, .passes = &passes};
};

/// `Base`, extended by failure injection if the config enables that.
template <class Config, class Base>
using WithFailures =
    std::conditional_t<Config::Failures::kFails, RefusingRecorder<Config, Base>, Base>;

/// The `CheckingSink` and `AccessSink` of a tracker whose `Config::Checks` enables checks. Reports
/// each new fault to `Config::on_misuse(const Misuse&)` if the config has that function. The
/// callback runs inside malloc, on the thread that found the fault, and may allocate.
///
/// Runs inside malloc. All members are static, constant-initialized and never destroyed.
template <class Config>
class CheckingRecorder : public Recorder<Config> {
 public:
  using Base = Recorder<Config>;
  using Base::kConfig;
  using Checks = typename Config::Checks;

  /// Runs in the first hooked call, or before the hook is installed. Uses the internal arena to
  /// allocate.
  static void on_first_call() noexcept {
    read_environment();
    Base::on_first_call();
  }

  static void read_environment() noexcept {
    if constexpr (features_of<CheckFeatures, Checks>().read_environment) {
      const os::ErrnoGuard preserve_error;
      const UseInternalArena own;
      Checks::read_environment();
    }
  }

  ALLOCTAP_ALWAYS_INLINE static bool should_skip_checks() noexcept {
    return (kPlaces && GuardSampler::passes_over()) || !has_checks();
  }

  /// Returns whether the settings enable a check of any block.
  ALLOCTAP_ALWAYS_INLINE static bool has_checks() noexcept {
    const CheckSettings& settings = Checks::settings();
    return settings.touches_all() || (kPlaces && settings.guard_pages != 0);
  }

  ALLOCTAP_ALWAYS_INLINE static bool is_checked(const void* block) noexcept {
    return checker_.is_checked(block);
  }

  static BlockPlan plan_block(const AllocationRequest& wanted) noexcept {
    const bool is_chosen = kPlaces && GuardSampler::is_due(Checks::settings());
    if (!is_chosen && !Checks::settings().blocks) {
      return BlockLayout::plan_unrecorded(Checks::settings(), wanted);
    }
    const ErrnoSafeRecordingScope section;
    if (is_chosen && catches_faults()) {
      const BlockPlan plan = checker_.place(wanted, hint_of(section));
      if (plan.place != nullptr) return plan;
    }
    return checker_.plan(wanted, hint_of(section));
  }

  static void* adopt_block(const BlockPlan& plan, void* block, const AllocationRequest& wanted,
                           const CallOrigin& origin) noexcept {
    if (plan.number == 0) return checker_.adopt(plan, block, wanted, {});
    const ErrnoSafeRecordingScope section;
    return checker_.adopt(plan, block, wanted, call_of(section, origin));
  }

  static void drop_plan(const BlockPlan& plan) noexcept {
    if (plan.number == 0) return;
    const ErrnoSafeRecordingScope section;
    checker_.drop(plan, hint_of(section));
  }

  static ReleasePlan release_block(const DeallocationEvent& gone) noexcept {
    if (!checker_.is_checked(gone.pointer)) return {};
    return check(gone.origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.release(gone, call, found);
    });
  }

  static bool retire_block(const ReleasePlan& plan) noexcept {
    const ErrnoSafeRecordingScope section;
    return checker_.retire(plan, hint_of(section));
  }

  static bool next_evicted(ReleasePlan& plan, const CallOrigin& origin) noexcept {
    if (!checker_.is_overfull()) return false;
    return check(origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.evict(plan, call, found);
    });
  }

  static BlockLookup before_reallocate(const DeallocationEvent& gone) noexcept {
    if (!checker_.is_checked(gone.pointer)) return {};
    return check(gone.origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.before_reallocate(gone, call, found);
    });
  }

  /// Returns whether the settings enable checks of accesses by string and memory functions.
  static bool checks_strings() noexcept { return Checks::settings().strings; }

  /// Whether `checks_strings` can ever return true.
  static constexpr bool kMayCheckStrings = may_check_strings<Checks>();

  static std::size_t room_at(const void* pointer) noexcept {
    return checker_.accesses().room_at(pointer);
  }

  /// Reports `access` if the access is a fault; `origin` is the accessing function's call site.
  static void check_access(const MemoryAccess& access, const CallOrigin& origin) noexcept {
    const std::optional<AccessFault> fault = checker_.accesses().find_fault(access);
    if (!fault.has_value()) return;
    check(origin, [&](const BlockCall& call, FoundMisuses& found) {
      checker_.accesses().add(*fault, access, call, found);
      return true;
    });
  }

  static void note_overlap(const MemoryAccess& written, std::uintptr_t source,
                           const CallOrigin& origin) noexcept {
    check(origin, [&](const BlockCall& call, FoundMisuses& found) {
      checker_.accesses().add_overlap(written, source, call, found);
      return true;
    });
  }

  static BlockLookup usable_size(const void* block) noexcept { return checker_.extent(block); }

  static BlockLookup before_measure(const void* block, std::string_view function,
                                    const CallOrigin& origin) noexcept {
    const BlockLookup live = checker_.extent(block);
    const bool is_sound = live.verdict == BlockLookup::Verdict::kKnown;
    if (is_sound || !checker_.is_checked(block)) return live;
    return check(origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.before_measure(block, function, call, found);
    });
  }

  static void register_unchecked_block(const void* block) noexcept {
    checker_.register_unchecked_block(block);
  }

  /// Opens no recording scope, because the tracker function that is running may already hold one.
  static ReleasePlan release_unchecked(const void* block) noexcept {
    return checker_.release_unchecked(block);
  }

  static bool forget_unchecked(const void* old) noexcept { return checker_.forget_unchecked(old); }
  static bool is_unknown_block(const void* block) noexcept {
    return checker_.is_unknown_block(block);
  }

  static void on_page_change(const void* address, std::size_t bytes, PageChange change) noexcept {
    const ErrnoSafeRecordingScope section;
    if (has_checks()) checker_.note_page_change(address, bytes, change);
  }

  static void* end_next(const DeallocationEvent& gone, std::uint32_t& cursor) noexcept {
    return check(gone.origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.end_next(gone, cursor, call, found);
    });
  }

  /// Checks all blocks and returns the faults. The caller has stopped the world. After resuming the
  /// world, the caller passes the result to `act`.
  static FoundMisuses sweep() noexcept {
    FoundMisuses found;
    checker_.sweep({.thread = os::current_thread_id(), .time_ns = os::coarse_monotonic_ns()},
                   found);
    return found;
  }

  static void act(const FoundMisuses& found) noexcept {
    for (const Misuse* misuse : found) {
      if constexpr (kConfig.on_misuse) Config::on_misuse(*misuse);
      if (Checks::settings().abort_on.contains(misuse->kind)) std::abort();
    }
  }

  static const MisuseLog& misuses() noexcept { return checker_.log(); }
  /// Returns the enabled checks, without guard pages if the hook does not support them.
  static CheckSettings check_settings() noexcept {
    CheckSettings settings = Checks::settings();
    if (!kPlaces) settings.guard_pages = 0;
    return settings;
  }
  static GuardPageStats guard_page_stats() noexcept {
    return checker_.guarded().account(Checks::settings());
  }

 private:
  /// Whether the hook supports guard pages. Otherwise guard-page settings have no effect.
  static constexpr bool kPlaces = Config::Hook::capabilities.uses_guard_pages;

  /// Installs `on_fault` as the handler of memory faults, once. Returns false on failure.
  static bool catches_faults() noexcept {
    enum State : int { kUnknown, kCaught, kUncaught };
    static constinit std::atomic<int> state{kUnknown};
    int now = state.load(std::memory_order_acquire);
    if (now == kUnknown) {
      bool is_caught = false;
      if constexpr (kConfig.catch_faults) {
        is_caught = Config::catch_faults(&on_fault);
      } else {
        is_caught = os::catch_memory_faults(&on_fault);
      }
      now = is_caught ? kCaught : kUncaught;
      state.store(now, std::memory_order_release);
    }
    return now == kCaught;
  }

  /// Handles a memory fault in a signal handler, which may interrupt any code. Passes on faults
  /// inside the tracker, because the program did not cause them.
  static os::FaultVerdict on_fault(const os::MemoryFault& fault) noexcept {
    const auto* const address = reinterpret_cast<const void*>(fault.address);
    if (!checker_.guards(address) || inside_tracker()) return os::FaultVerdict::kPassOn;
    const ReentrancyGuard guard;
    const CallOrigin origin{.caller = reinterpret_cast<const void*>(fault.code)};
    const bool is_told = check(origin, [&](const BlockCall& call, FoundMisuses& found) {
      return checker_.note_fault(fault, call, found);
    });
    const bool goes_on =
        is_told && Checks::settings().outlives_faults && checker_.guarded().open_page(address);
    return goes_on ? os::FaultVerdict::kRetry : os::FaultVerdict::kPassOn;
  }

  static std::uint32_t hint_of(const RecordingScope& section) noexcept {
    return section.thread() == nullptr ? 0 : section.thread()->number;
  }

  static BlockCall call_of(const RecordingScope& section, const CallOrigin& origin) noexcept {
    ThreadStats* const totals = section.thread() == nullptr ? nullptr : Base::mine();
    if (totals == nullptr) return {.stack = kUnknownStack};
    ThreadState& thread = *section.thread();
    return {.stack = Base::capture(thread, *totals, origin),
            .thread = thread.thread_id.load(std::memory_order_relaxed),
            .time_ns = os::coarse_monotonic_ns()};
  }

  template <class Work>
  static auto check(const CallOrigin& origin, Work&& work) noexcept {
    const os::ErrnoGuard preserve_error;
    FoundMisuses found;
    const auto result = [&] {
      const RecordingScope section;
      return work(call_of(section, origin), found);
    }();
    act(found);
    return result;
  }

  static inline constinit BlockChecker<Checks> checker_;
};

/// Prepares the checks before the hook is installed. Returns an error if checks are unavailable.
template <class Config>
[[nodiscard]] Status prepare_checks() {
  using Checks = typename Config::Checks;
  if constexpr (features_of<CheckFeatures, Checks>().status) {
    if (Status status = Checks::status(); !status.ok()) return status;
  }
  if constexpr (features_of<CheckFeatures, Checks>().read_environment) {
    CheckingRecorder<Config>::read_environment();
  }
  return Status();
}

/// The event sink of a tracker with this `Config`: a recorder with the enabled extensions.
template <class Config>
using RecorderOf =
    WithFailures<Config, std::conditional_t<Config::Checks::kChecks, CheckingRecorder<Config>,
                                            Recorder<Config>>>;

}  // namespace alloctap
