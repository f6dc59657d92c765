/// No sampling: exact totals and exact stacks.
#pragma once

#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

/// Records each allocation.
struct EveryAllocation {
  static constexpr bool records_everything = true;
  static bool should_record(ThreadState&, std::size_t) noexcept { return true; }
};

static_assert(SamplingPolicy<EveryAllocation>);

}  // namespace alloctap
