/// The sampling policy of a tracker and its estimates, for snapshots.
#pragma once

#include <cstddef>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

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

}  // namespace alloctap
