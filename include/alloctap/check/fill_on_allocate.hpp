/// Fills new blocks.
#pragma once

#include <cstddef>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Fills the first `kBytes` of each new block with `kAllocatedByte`, so that reads of uninitialized
/// memory do not find zeros. Leaves the content that calloc and strdup promise.
template <std::size_t kBytes = CheckSettings::kAllBytes>
struct FillOnAllocate {
  static_assert(kBytes > 0, "filling no bytes is leaving FillOnAllocate out");
  static constexpr CheckNeeds needs{};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.fill_on_allocate = kBytes;
  }
};

static_assert(Check<FillOnAllocate<>>);

}  // namespace alloctap
