/// The bodies of game/thread_frames.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloctap/game/thread_frames.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::uint64_t TypicalLatency::estimate(std::uint64_t taken,
                                                       std::uint64_t weight) noexcept {
  if (weight == 1) return taken;
  if (ns == 0) ns = std::clamp<std::uint64_t>(taken, 1, kFirstAtMost);
  const bool is_usual = taken <= kMuchLonger * ns;
  // Exponential moving average, weight 1/8. The minimum limits a sample to double the mean at most.
  // The +7 rounds up, so that small means can grow.
  ns = (7 * ns + std::min(taken, 9 * ns) + 7) / 8;
  return is_usual ? taken * weight : taken;
}

}  // namespace alloctap
