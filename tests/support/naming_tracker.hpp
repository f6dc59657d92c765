/// What names stacks in tests of what asks a tracker for names.
#pragma once

#include <span>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/status.hpp"
#include "tests/support/sample_report.hpp"

namespace alloctap::testing {

/// Names the stacks of `sample`; where there is none it has no memory for that.
struct NamingTracker {
  static inline const SampleReport* sample = nullptr;

  static Result<NamedStacks> name_stacks(std::span<const StackId> stacks) {
    if (sample == nullptr) return Status::resource_exhausted("no memory for names");
    return NamedStacks::name(sample->report(), stacks);
  }
};

}  // namespace alloctap::testing
