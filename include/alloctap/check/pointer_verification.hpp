/// Finds frees of addresses that no allocation returned.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Needs a hook that has seen every block, or asks the allocator of those that came before it.
/// Addresses inside known blocks, and blocks that were freed before, are found without it.
struct PointerVerification {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.unknown_pointers = true;
  }
};

static_assert(Check<PointerVerification>);

}  // namespace alloctap
