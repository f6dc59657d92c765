/// Compile-time detection of misspelt slot names in a tracker's config.
#pragma once

#include <type_traits>

#include "alloctap/macros.hpp"

namespace alloctap {

/// Rejects, at compile time, config members that are misspelt slots or names of concepts. Without
/// this check, such members would compile and have no effect. C++20 cannot list the members of a
/// class, so common mistakes are tested one by one. No run-time cost.
template <class C>
struct HasNoSlips {
  ALLOCTAP_SLIP(hook, Hook);
  ALLOCTAP_SLIP(Hooks, Hook);
  ALLOCTAP_SLIP(HookBackend, Hook);
  ALLOCTAP_SLIP(Backend, Hook);
  ALLOCTAP_SLIP(stack, Stack);
  ALLOCTAP_SLIP(Stacks, Stack);
  ALLOCTAP_SLIP(StackCapture, Stack);
  ALLOCTAP_SLIP(Capture, Stack);
  ALLOCTAP_SLIP(Unwind, Stack);
  ALLOCTAP_SLIP(Unwinder, Stack);
  ALLOCTAP_SLIP(sampling, Sampling);
  ALLOCTAP_SLIP(Samplings, Sampling);
  ALLOCTAP_SLIP(SamplingPolicy, Sampling);
  ALLOCTAP_SLIP(Samplin, Sampling);
  ALLOCTAP_SLIP(Sample, Sampling);
  ALLOCTAP_SLIP(Samples, Sampling);
  ALLOCTAP_SLIP(Sampler, Sampling);
  ALLOCTAP_SLIP(queue, Queue);
  ALLOCTAP_SLIP(Queues, Queue);
  ALLOCTAP_SLIP(EventQueue, Queue);
  ALLOCTAP_SLIP(EventQueuePolicy, Queue);
  ALLOCTAP_SLIP(meta, Meta);
  ALLOCTAP_SLIP(Metas, Meta);
  ALLOCTAP_SLIP(MetaContainer, Meta);
  ALLOCTAP_SLIP(MetaData, Meta);
  ALLOCTAP_SLIP(Metadata, Meta);
  ALLOCTAP_SLIP(checks, Checks);
  ALLOCTAP_SLIP(Check, Checks);
  ALLOCTAP_SLIP(CheckPolicy, Checks);
  ALLOCTAP_SLIP(Checker, Checks);
  ALLOCTAP_SLIP(failures, Failures);
  ALLOCTAP_SLIP(Failure, Failures);
  ALLOCTAP_SLIP(FailurePolicy, Failures);
  ALLOCTAP_SLIP(Fail, Failures);
  ALLOCTAP_SLIP(Fails, Failures);
  ALLOCTAP_SLIP(tags, Tags);
  ALLOCTAP_SLIP(Tag, Tags);
  ALLOCTAP_SLIP(TagPolicy, Tags);
  ALLOCTAP_SLIP(pools, Pools);
  ALLOCTAP_SLIP(Pool, Pools);
  ALLOCTAP_SLIP(PoolPolicy, Pools);
  ALLOCTAP_SLIP(observers, Observers);
  ALLOCTAP_SLIP(Observer, Observers);
  ALLOCTAP_SLIP(Observe, Observers);
  ALLOCTAP_SLIP(symbolizer, Symbolizer);
  ALLOCTAP_SLIP(Symbolizers, Symbolizer);
  ALLOCTAP_SLIP(Symboliser, Symbolizer);
  ALLOCTAP_SLIP(Symbols, Symbolizer);
  ALLOCTAP_SLIP(Symbolize, Symbolizer);
  ALLOCTAP_SLIP(Limit, limits);
  ALLOCTAP_VALUE_SLIP(limit, limits);
  ALLOCTAP_VALUE_SLIP(kLimits, limits);
  ALLOCTAP_VALUE_SLIP(max_frames, limits);
  ALLOCTAP_VALUE_SLIP(max_queue_bytes, limits);
  static_assert(
      !requires { &C::is_own_call; }, "Config::is_own_call is named is_internal_call now");
  static_assert(
      !requires { &C::own_calls_to_come; },
      "Config::own_calls_to_come is named may_have_internal_calls now");
  static_assert(
      !requires { typename C::Index; } && !requires { typename C::Container; },
      "Config::Index and Config::Container are not slots; say "
      "Meta = MemoryMetaContainer<Index>");
  static_assert(
      !requires { typename C::Dump; } && !requires { typename C::Output; },
      "Config has no slot for dumps: pass the policy and the output to Tracker::dump");
  static constexpr bool ok = true;
};

}  // namespace alloctap
