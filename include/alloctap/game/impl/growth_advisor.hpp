/// Definitions for game/growth_advisor.hpp.
#pragma once

#include "alloctap/game/growth_advisor.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/message_text.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::string describe(const GrowthAdvice& advice) {
  const GrowthSums& sums = advice.sums;
  return join_text("stack ", advice.stack, ": reserve(", sums.largest_bytes, " bytes) would save ",
                   sums.steps, " growth", sums.steps == 1 ? "" : "s", " and ", sums.bytes_copied,
                   " bytes copied in ", sums.chains, sums.chains == 1 ? " block" : " blocks");
}

}  // namespace alloctap
