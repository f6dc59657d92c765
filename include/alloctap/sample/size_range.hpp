/// A sampling policy that captures stacks only for a range of block sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

/// Records what the policy `Inner` records, but captures stacks only for blocks from `min_bytes` to
/// `max_bytes`. All other blocks share one pseudo-stack, so totals stay complete. Choose it for
/// questions about certain sizes, such as which code allocates many small blocks.
template <std::size_t min_bytes, std::size_t max_bytes, SamplingPolicy Inner = EveryAllocation>
struct SizeRange {
  static_assert(min_bytes <= max_bytes, "the range is empty: min_bytes is above max_bytes");

  static constexpr auto features = features_of<SamplingFeatures, Inner>();

  static constexpr bool selects() noexcept { return true; }
  static constexpr bool records_everything() noexcept { return Inner::records_everything(); }
  static SampleDecision decide(ThreadState& thread, std::size_t size) noexcept {
    const SampleDecision decision = Inner::decide(thread, size);
    const bool outside = size < min_bytes || size > max_bytes;
    return outside ? std::min(decision, SampleDecision::kWithoutStack) : decision;
  }
  static std::uint64_t* countdown(ThreadState& thread) noexcept
    requires(features.countdown)
  {
    return Inner::countdown(thread);
  }
  static void after_fork() noexcept
    requires(features.after_fork)
  {
    Inner::after_fork();
  }
  static constexpr double weight(std::size_t size) noexcept { return Inner::weight(size); }
  static constexpr SamplingDescription description() noexcept {
    SamplingDescription inner = Inner::description();
    inner.min_bytes = std::max<std::uint64_t>(inner.min_bytes, min_bytes);
    inner.max_bytes = std::min<std::uint64_t>(inner.max_bytes, max_bytes);
    return inner;
  }
};

static_assert(SamplingPolicy<SizeRange<16, 32>>);

}  // namespace alloctap
