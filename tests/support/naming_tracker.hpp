/// What names stacks in tests of what asks a tracker for names.
#pragma once

#include <absl/status/statusor.h>

#include <span>

#include "alloctap/dump/named_stacks.hpp"
#include "tests/support/sample_report.hpp"

namespace alloctap::testing {

/// Names the stacks of `sample`; where there is none it has no memory for that.
struct NamingTracker {
  static inline const SampleReport* sample = nullptr;

  static absl::StatusOr<NamedStacks> name_stacks(std::span<const StackId> stacks) {
    if (sample == nullptr) return absl::ResourceExhaustedError("no memory for names");
    return NamedStacks::name(sample->report(), stacks);
  }
};

}  // namespace alloctap::testing
