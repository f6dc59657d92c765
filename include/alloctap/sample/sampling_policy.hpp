/// The contract of sampling policies, the policy without sampling, and the view for snapshots.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "alloctap/event/policy_features.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// Whether and how an allocation is recorded.
enum class SampleDecision : std::uint8_t {
  /// Count the allocation without a record, so that its free finds no record.
  kSkip,
  /// Record the allocation under `kStackNotTaken`, which avoids the cost of unwinding.
  kWithoutStack,
  kWithStack,
};

/// The description of a policy in reports.
struct SamplingDescription {
  std::string_view name;
  /// The mean distance of samples: an allocation of `s` bytes is recorded with probability 1 -
  /// exp(-s / mean_bytes). 0 if sampling is not random.
  std::uint64_t mean_bytes = 0;
  /// Stacks are captured only for blocks from `min_bytes` to `max_bytes`.
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = UINT64_MAX;
};

/// The optional members of a sampling policy.
struct SamplingFeatures {
  /// `countdown(thread)` returns a counter of the thread at a fixed address; nullptr if out of
  /// memory. If a nonempty allocation is not larger than the counter, `decide` would return
  /// `kSkip`; the caller may subtract the size from the counter instead. Skipped calls are then
  /// almost free.
  bool countdown = false;
  /// `after_fork()` runs in the child of a fork before the child records anything.
  bool after_fork = false;
};

/// `decide` is called once per allocation, on the thread that owns `thread`; per-thread state
/// belongs in a `PerThread`. `selects` returns false if `decide` always returns `kWithStack`.
/// `records_everything` returns true if `decide` never returns `kSkip`. The results of `selects`,
/// `records_everything` and `description` are constant during a session. `weight` returns how many
/// allocations of `size` a recorded one represents: the inverse of the sampling probability, or 1
/// if selection is not random. Records need not store the weight, because it depends only on the
/// size. All functions run inside malloc. `features` declares the policy's `SamplingFeatures`.
template <class S>
concept SamplingPolicy = requires(ThreadState& thread, std::size_t size) {
  { S::selects() } noexcept -> std::same_as<bool>;
  { S::records_everything() } noexcept -> std::same_as<bool>;
  { S::decide(thread, size) } noexcept -> std::same_as<SampleDecision>;
  { S::weight(size) } noexcept -> std::same_as<double>;
  { S::description() } noexcept -> std::same_as<SamplingDescription>;
};

/// Whether `S` always records every allocation. If so, trackers contain no sampling code.
template <class S>
inline constexpr bool kNeverSamples =
    requires { requires std::bool_constant<S::records_everything()>::value; };

/// A minimal model of `SamplingPolicy`.
struct SamplingPolicyArchetype {
  static bool selects() noexcept { return true; }
  static bool records_everything() noexcept { return false; }
  static SampleDecision decide(ThreadState&, std::size_t) noexcept { return SampleDecision::kSkip; }
  static double weight(std::size_t) noexcept { return 1; }
  static SamplingDescription description() noexcept { return {}; }
};

static_assert(SamplingPolicy<SamplingPolicyArchetype>);

/// When instantiated, checks that the declared features of `S` match its members.
template <class S>
struct CheckedSampling {
  static constexpr auto kHas = features_of<SamplingFeatures, S>();
  ALLOCTAP_CHECK_FEATURE(
      "Sampling", kHas, countdown, requires(ThreadState& thread) { S::countdown(thread); });
  ALLOCTAP_CHECK_FEATURE("Sampling", kHas, after_fork, requires { S::after_fork(); });
  static constexpr bool ok = true;
};

/// The estimated counts of one stack: sums of sample weights.
struct StackEstimate {
  double allocations = 0;
  double allocated_bytes = 0;
  double temporary_allocations = 0;
};

/// The sampling policy and the estimates for a snapshot.
struct SamplingView {
  /// Returns whether every allocation was recorded, so that counts are exact.
  [[nodiscard]] bool is_exact() const noexcept { return estimate == nullptr; }

  SamplingDescription policy;
  double (*weight)(std::size_t size) noexcept = nullptr;
  /// Returns the estimate of a stack; nullptr if every allocation was recorded.
  StackEstimate (*estimate)(StackId stack) noexcept = nullptr;
};

/// The policy without sampling: records each allocation with its stack, so that all counts are
/// exact. Runs inside malloc.
struct EveryAllocation {
  static constexpr bool selects() noexcept { return false; }
  static constexpr bool records_everything() noexcept { return true; }
  static SampleDecision decide(ThreadState&, std::size_t) noexcept {
    return SampleDecision::kWithStack;
  }
  static constexpr double weight(std::size_t) noexcept { return 1; }
  static constexpr SamplingDescription description() noexcept {
    return {.name = "every-allocation"};
  }
};

static_assert(SamplingPolicy<EveryAllocation>);

}  // namespace alloctap
