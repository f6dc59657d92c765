/// Fills blocks that come.
#pragma once

#include <cstddef>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// With `kAllocatedByte`, in the first `kBytes`; what calloc and strdup return is as they promise.
/// A program that reads what it never wrote does not find zeros there by chance.
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
