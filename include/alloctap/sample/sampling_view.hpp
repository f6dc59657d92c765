/// What is known of the samples that a tracker has taken.
#pragma once

#include <cstddef>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

/// What a stack has allocated, estimated: sums of weights of samples.
struct StackEstimate {
  double allocations = 0;
  double allocated_bytes = 0;
  double temporary_allocations = 0;
};

/// What a snapshot has to know of the sampling behind it.
struct SamplingView {
  /// Whether every allocation was recorded: then what was counted is exact.
  [[nodiscard]] bool is_exact() const noexcept { return estimate == nullptr; }

  SamplingDescription policy;
  double (*weight)(std::size_t size) noexcept = nullptr;
  /// nullptr where every allocation was recorded.
  StackEstimate (*estimate)(StackId stack) noexcept = nullptr;
};

}  // namespace alloctap
