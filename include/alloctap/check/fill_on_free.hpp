/// Fills freed blocks.
#pragma once

#include <cstddef>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Fills the first `kBytes` of each freed block with `kFreedByte`, so that use after free does not
/// find the old content.
template <std::size_t kBytes = CheckSettings::kAllBytes>
struct FillOnFree {
  static_assert(kBytes > 0, "filling no bytes is leaving FillOnFree out");
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.fill_on_free = kBytes;
  }
};

static_assert(Check<FillOnFree<>>);

}  // namespace alloctap
