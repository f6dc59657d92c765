/// Finds buffer underflows.
#pragma once

#include <cstddef>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Puts a red zone of `kBytes` before each block, rounded up to the block's alignment and filled
/// with `kFrontGuardByte`. Verifies it when the block is freed.
template <std::size_t kBytes = 32>
struct FrontGuard {
  static_assert(kBytes > 0 && kBytes <= 16384, "a guard has from 1 to 16384 bytes");
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.front_guard = kBytes;
  }
};

static_assert(Check<FrontGuard<>>);

}  // namespace alloctap
