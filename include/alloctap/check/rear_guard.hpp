/// Finds buffer overflows.
#pragma once

#include <cstddef>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Puts a red zone of `kBytes` of `kRearGuardByte` behind each block; the free verifies it.
template <std::size_t kBytes = 32>
struct RearGuard {
  static_assert(kBytes > 0 && kBytes <= 16384, "a guard has from 1 to 16384 bytes");
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.rear_guard = kBytes;
  }
};

static_assert(Check<RearGuard<>>);

}  // namespace alloctap
