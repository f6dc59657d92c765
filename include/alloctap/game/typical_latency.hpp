/// Estimation of allocator time from sampled call durations.
#pragma once

#include <cstdint>

namespace alloctap {

/// The typical duration of small calls of one thread, from samples. A sample near the mean
/// represents its whole sampling interval. A much longer one (it waited, or touched a fresh page)
/// counts only once: weighted, it could make the frame's allocator time exceed the frame's
/// duration. Accessed only by its thread, inside malloc; zero-initialized.
struct TypicalLatency {
  /// A sample longer than this multiple of the mean is an outlier.
  static constexpr std::uint64_t kMuchLonger = 16;
  /// Caps the first sample, which is often slow, in nanoseconds.
  static constexpr std::uint64_t kFirstAtMost = 1'000;

  /// Moving average, in nanoseconds; 0 before the first sample.
  std::uint64_t ns = 0;

  /// Returns the estimated nanoseconds of `weight` calls, one of which took `taken`.
  std::uint64_t estimate(std::uint64_t taken, std::uint64_t weight) noexcept;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/typical_latency.hpp"
#endif
