/// The contract of sampling: which allocations are recorded, and with how much.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// What becomes of one allocation.
enum class SampleDecision : std::uint8_t {
  /// It is counted and forgotten: its free finds no record.
  kSkip,
  /// It is recorded as one of `kStackNotTaken`, without the cost of a stack.
  kWithoutStack,
  kWithStack,
};

/// A policy as a report describes it.
struct SamplingDescription {
  std::string_view name;
  /// An allocation of `s` bytes is recorded with the probability 1 - exp(-s / mean_bytes); 0 where
  /// chance has no part in it.
  std::uint64_t mean_bytes = 0;
  /// Stacks are taken of blocks from `min_bytes` to `max_bytes`.
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = UINT64_MAX;
};

/// `decide` is asked once per allocation, inside malloc, on the thread that owns `thread`; what it
/// keeps for a thread it keeps in a `PerThread`. `selects` tells whether it can say anything but
/// `kWithStack`, `records_everything` whether it never says `kSkip`; both and the description stay
/// the same while a session lives. `weight` is how many
/// allocations of that size a recorded one stands for: the inverse of its probability, at least 1;
/// 1 for a policy that selects by other rules than chance. It is a function of the size alone, so
/// that records need no room for it. All run inside malloc.
///
/// A policy may have `countdown(thread)`, which returns a counter of that thread's, always the
/// same, or nullptr where the system has no memory: an allocation of as many bytes as it says, or
/// fewer, but not of none, may be taken off it instead of asking `decide`, which would say `kSkip`.
/// Such a policy costs next to nothing where it skips. And it may have `after_fork()`, which is
/// called in the child of a fork before anything is recorded there.
template <class S>
concept SamplingPolicy = requires(ThreadState& thread, std::size_t size) {
  { S::selects() } noexcept -> std::same_as<bool>;
  { S::records_everything() } noexcept -> std::same_as<bool>;
  { S::decide(thread, size) } noexcept -> std::same_as<SampleDecision>;
  { S::weight(size) } noexcept -> std::same_as<double>;
  { S::description() } noexcept -> std::same_as<SamplingDescription>;
};

/// Whether `S` records every allocation whatever it is set to. Then nothing of sampling is compiled
/// into a tracker.
template <class S>
inline constexpr bool kNeverSamples =
    requires { requires std::bool_constant<S::records_everything()>::value; };

/// The least that models `SamplingPolicy`.
struct SamplingPolicyArchetype {
  static bool selects() noexcept { return true; }
  static bool records_everything() noexcept { return false; }
  static SampleDecision decide(ThreadState&, std::size_t) noexcept { return SampleDecision::kSkip; }
  static double weight(std::size_t) noexcept { return 1; }
  static SamplingDescription description() noexcept { return {}; }
};

static_assert(SamplingPolicy<SamplingPolicyArchetype>);

}  // namespace alloctap
