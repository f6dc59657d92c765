/// Configuration of a tracker: its policy slots, their defaults, and checks of the policies.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/check_policy.hpp"
#include "alloctap/check/misuse.hpp"
#include "alloctap/config_slips.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/meta/pool_policy.hpp"
#include "alloctap/meta/shadow_index.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/memory_faults.hpp"
#include "alloctap/queue/direct_queue.hpp"
#include "alloctap/queue/event_queue.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"
#include "alloctap/symbol/symbolizer.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Resource limits of a tracker.
struct Limits {
  /// Maximum number of captured frames, at most `ThreadState::kMaxFrames`.
  std::uint32_t max_frames = 256;
  /// Maximum memory of the event queue, in bytes.
  std::size_t max_queue_bytes = 16 * 1024 * 1024;
};

/// The default policy of every slot of a tracker. Derive from it and override slots:
///
///     struct GameConfig : alloctap::DefaultConfig {
///       using Hook = alloctap::InterposeHook;
///     };
///
/// A config may also define the static functions that `ConfigFeatures` lists, named in `features`:
///
///     static constexpr alloctap::ConfigFeatures features{.on_misuse = true};
///     static void on_misuse(const alloctap::Misuse& misuse) noexcept;
struct DefaultConfig {
  using Hook = ManualHook<>;
  using Stack = UnwindTableStack;
  using Sampling = EveryAllocation;
  using Queue = DirectQueue;
  using Meta = MemoryMetaContainer<ShadowIndex>;
  using Checks = NoChecks;
  using Failures = NoFailures;
  using Tags = NoTags;
  using Pools = NoPools;
  using Observers = NoObservers;
  using Symbolizer = NoSymbolizer;
  static constexpr Limits limits{};
  static constexpr ConfigFeatures features{};
};

/// Satisfied if `C` fills every slot. `Tracker` reports at compile time which slot is wrong.
template <class C>
concept TrackerConfig =
    HookBackend<typename C::Hook> && StackCapture<typename C::Stack> &&
    SamplingPolicy<typename C::Sampling> && EventQueuePolicy<typename C::Queue> &&
    MetaContainer<typename C::Meta> && CheckPolicy<typename C::Checks> &&
    FailurePolicy<typename C::Failures> && TagPolicy<typename C::Tags> &&
    PoolPolicy<typename C::Pools> && Observer<typename C::Observers> &&
    Symbolizer<typename C::Symbolizer> && std::convertible_to<decltype(C::limits), Limits>;

static_assert(TrackerConfig<DefaultConfig>);

/// When instantiated, rejects a config `C` whose `features` differ from its functions.
template <class C>
struct CheckedFunctions {
  static constexpr auto kHas = features_of<ConfigFeatures, C>();
  ALLOCTAP_CHECK_FEATURE("Config", kHas, on_first_call, requires { C::on_first_call(); });
  ALLOCTAP_CHECK_FEATURE(
      "Config", kHas, is_internal_call,
      requires(const CallOrigin& origin) { C::is_internal_call(origin); });
  ALLOCTAP_CHECK_FEATURE(
      "Config", kHas, may_have_internal_calls, requires { C::may_have_internal_calls(); });
  ALLOCTAP_CHECK_FEATURE("Config", kHas, own_module, requires { C::own_module(); });
  ALLOCTAP_CHECK_FEATURE(
      "Config", kHas, for_each_kept_pointer, requires { &C::for_each_kept_pointer; });
  ALLOCTAP_CHECK_FEATURE(
      "Config", kHas, on_misuse, requires(const Misuse& misuse) { C::on_misuse(misuse); });
  ALLOCTAP_CHECK_FEATURE(
      "Config", kHas, catch_faults,
      requires(os::FaultListener listener) { C::catch_faults(listener); });
  static constexpr bool ok = true;
};

/// Checks each slot in turn when instantiated; each error message names the slot and its concept.
template <class C>
struct CheckedConfig {
  static_assert(HookBackend<typename C::Hook>,
                "Config::Hook does not model HookBackend: see alloctap/hook/hook_backend.hpp");
  static_assert(StackCapture<typename C::Stack>,
                "Config::Stack does not model StackCapture: see alloctap/stack/stack_capture.hpp");
  static_assert(
      SamplingPolicy<typename C::Sampling>,
      "Config::Sampling does not model SamplingPolicy: see alloctap/sample/sampling_policy.hpp");
  static_assert(
      EventQueuePolicy<typename C::Queue>,
      "Config::Queue does not model EventQueuePolicy: see alloctap/queue/event_queue.hpp");
  static_assert(MetaContainer<typename C::Meta>,
                "Config::Meta does not model MetaContainer: see alloctap/meta/meta_container.hpp");
  static_assert(CheckPolicy<typename C::Checks>,
                "Config::Checks does not model CheckPolicy: see alloctap/check/check_policy.hpp");
  static_assert(!C::Checks::kChecks || C::Hook::capabilities.checks_blocks,
                "Config::Checks has something to check, and Config::Hook cannot do it: it tells of "
                "blocks and has no say in them. Use InterposeHook, or WindowsHeapHook on "
                "Windows");
  static_assert(!C::Checks::needs.owns_every_free || C::Hook::capabilities.owns_every_free,
                "Config::Checks has a check that remembers blocks, and Config::Hook does not see "
                "every free: use InterposeHook, or Expand and FillOnAllocate alone");
  static_assert(
      !C::Checks::needs.uses_guard_pages || C::Hook::capabilities.uses_guard_pages,
      "Config::Checks has GuardPages, and Config::Hook cannot hand out memory that is not "
      "the allocator's: use InterposeHook, or other checks");
  static_assert(
      FailurePolicy<typename C::Failures>,
      "Config::Failures does not model FailurePolicy: see alloctap/fail/failure_policy.hpp");
  static_assert(!C::Failures::kFails || C::Hook::capabilities.may_refuse,
                "Config::Failures has allocations fail, and Config::Hook cannot do it: it is told "
                "when they are made. Use InterposeHook, PltHook or InlineHook, or WindowsHeapHook "
                "or WindowsImportHook on Windows");
  static_assert(TagPolicy<typename C::Tags>,
                "Config::Tags does not model TagPolicy: see alloctap/tag/tag_policy.hpp");
  static_assert(PoolPolicy<typename C::Pools>,
                "Config::Pools does not model PoolPolicy: see alloctap/meta/pool_policy.hpp");
  static_assert(Observer<typename C::Observers>,
                "Config::Observers does not model Observer: see alloctap/observe/observer.hpp");
  static_assert(!kObserves<typename C::Observers> || kNeverSamples<typename C::Sampling>,
                "Config::Observers are told of every block, which Config::Sampling leaves out: "
                "use EveryAllocation or SizeRange with observers");
  static_assert(Symbolizer<typename C::Symbolizer>,
                "Config::Symbolizer does not model Symbolizer: see alloctap/symbol/symbolizer.hpp");
  static_assert(std::convertible_to<decltype(C::limits), Limits>,
                "Config::limits is not an alloctap::Limits: see alloctap/config.hpp");
  static_assert(C::limits.max_frames >= 1 && C::limits.max_frames <= ThreadState::kMaxFrames,
                "Config::limits.max_frames must be from 1 to ThreadState::kMaxFrames");
  static_assert(HasNoSlips<C>::ok);
  static_assert(CheckedFunctions<C>::ok);
  static_assert(CheckedHook<typename C::Hook>::ok);
  static_assert(CheckedStack<typename C::Stack>::ok);
  static_assert(CheckedSampling<typename C::Sampling>::ok);
  static_assert(CheckedQueue<typename C::Queue::template For<QueueConsumerArchetype>>::ok);
  static_assert(CheckedIndex<typename C::Meta>::ok);
  static_assert(CheckedChecks<typename C::Checks>::ok);
  static_assert(CheckedTags<typename C::Tags>::ok);
  static_assert(CheckedObserver<typename C::Observers>::ok);
  static_assert(CheckedSymbolizer<typename C::Symbolizer>::ok);
  static constexpr bool ok = true;
};

}  // namespace alloctap
