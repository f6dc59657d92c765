/// Finds writes to freed blocks.
#pragma once

#include <cstdint>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Keeps the last `kBlocks` freed blocks, up to 256 MiB, from reuse and fills them with
/// `kFreedByte`. Verifies the fill when a block leaves the quarantine.
template <std::uint32_t kBlocks = 100>
struct Quarantine {
  static_assert(kBlocks > 0 && kBlocks <= 16384, "a quarantine has from 1 to 16384 blocks");
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.quarantine_blocks = kBlocks;
    if (settings.fill_on_free == 0) settings.fill_on_free = CheckSettings::kAllBytes;
  }
};

static_assert(Check<Quarantine<>>);

}  // namespace alloctap
