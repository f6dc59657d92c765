/// The contract of sampling: which allocations are recorded.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/guard/thread_state.hpp"

namespace alloctap {

/// `should_record` decides once per allocation, inside malloc, on the thread that owns `thread`.
/// `records_everything` tells whether a free without a record is worth counting.
template <class S>
concept SamplingPolicy = requires(ThreadState& thread, std::size_t size) {
  { S::records_everything } -> std::convertible_to<bool>;
  { S::should_record(thread, size) } noexcept -> std::same_as<bool>;
};

/// The least that models `SamplingPolicy`.
struct SamplingPolicyArchetype {
  static constexpr bool records_everything = false;
  static bool should_record(ThreadState&, std::size_t) noexcept { return false; }
};

static_assert(SamplingPolicy<SamplingPolicyArchetype>);

}  // namespace alloctap
