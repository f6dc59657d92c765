/// Adds usable bytes behind each block.
#pragma once

#include <cstddef>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Extends each block by `kBytes`. A program that fails only without it overruns its blocks.
template <std::size_t kBytes = 16>
struct Expand {
  static_assert(kBytes > 0 && kBytes <= 16384, "a block is expanded by 1 to 16384 bytes");
  static constexpr CheckNeeds needs{};
  static constexpr void apply(CheckSettings& settings) noexcept { settings.expand = kBytes; }
};

static_assert(Check<Expand<>>);

}  // namespace alloctap
