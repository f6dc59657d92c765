/// What the time of one call says of those whose time is not taken.
#pragma once

#include <cstdint>

namespace alloctap {

/// Of one thread's calls that are not large. One in so many has its time taken and stands for the
/// others, as long as it took about as long as they usually do. One that took much longer (it had
/// to wait, or met a fresh page) stands for itself: it happened once in its frame, and counted for
/// all the others it would make a frame spend more time in the allocator than the frame lasted.
/// Written and read by its thread alone, inside malloc; begins as zeros.
struct TypicalLatency {
  /// More than this many times the usual is no usual time.
  static constexpr std::uint64_t kMuchLonger = 16;
  /// What the first call may say at most: it is often slow. In nanoseconds.
  static constexpr std::uint64_t kFirstAtMost = 1'000;

  /// A moving mean, in nanoseconds; 0 before the first call.
  std::uint64_t ns = 0;

  /// Nanoseconds that stand for `weight` calls, of which one took `taken`.
  std::uint64_t estimate(std::uint64_t taken, std::uint64_t weight) noexcept;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/typical_latency.hpp"
#endif
