/// Finds frees of addresses that no allocation returned.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Requires a hook that sees every block, or one that asks the allocator about older blocks. Double
/// frees and frees of addresses inside blocks are found without this check.
struct PointerVerification {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.unknown_pointers = true;
  }
};

static_assert(Check<PointerVerification>);

}  // namespace alloctap
