/// The contract of sampling policies: which allocations are recorded, and in what detail.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// What to do with an allocation.
enum class SampleDecision : std::uint8_t {
  /// Count it without a record: its free finds none.
  kSkip,
  /// Record it under `kStackNotTaken`, without the cost of unwinding.
  kWithoutStack,
  kWithStack,
};

/// The description of a policy in reports.
struct SamplingDescription {
  std::string_view name;
  /// An allocation of `s` bytes is recorded with probability 1 - exp(-s / mean_bytes); 0 if
  /// sampling is not random.
  std::uint64_t mean_bytes = 0;
  /// Only blocks from `min_bytes` to `max_bytes` get stacks.
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = UINT64_MAX;
};

/// `decide` is called once per allocation, on the thread that owns `thread`; per-thread state
/// belongs in a `PerThread`. `selects` returns false if `decide` only returns `kWithStack`;
/// `records_everything` returns true if it never returns `kSkip`. Both and the description are
/// constant during a session. `weight` returns how many allocations of that size a recorded one
/// represents: the inverse of the sampling probability, at least 1. It is 1 if selection is not
/// random. It depends only on the size, so records need not store it. All run inside malloc.
///
/// Optional: `countdown(thread)` returns a counter of the thread at a fixed address, or nullptr if
/// out of memory. A caller may subtract a nonempty allocation that is not larger than the counter,
/// instead of calling `decide`, which would return `kSkip`. Then skipped calls are almost free.
/// Optional: `after_fork()` runs in the child of a fork before it records anything.
template <class S>
concept SamplingPolicy = requires(ThreadState& thread, std::size_t size) {
  { S::selects() } noexcept -> std::same_as<bool>;
  { S::records_everything() } noexcept -> std::same_as<bool>;
  { S::decide(thread, size) } noexcept -> std::same_as<SampleDecision>;
  { S::weight(size) } noexcept -> std::same_as<double>;
  { S::description() } noexcept -> std::same_as<SamplingDescription>;
};

/// Whether `S` always records every allocation. Then no sampling code is compiled into a tracker.
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

}  // namespace alloctap
