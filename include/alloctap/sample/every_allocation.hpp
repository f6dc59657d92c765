/// The sampling policy without sampling: exact totals and exact stacks.
#pragma once

#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

/// A policy that records each allocation with its stack. Runs inside malloc.
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
