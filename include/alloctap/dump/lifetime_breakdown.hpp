/// Partition of a stack's blocks by whether they were live at the peak and at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace alloctap {

/// A number of blocks of one stack, and their bytes.
struct BlockCount {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;

  /// Saturates at 0, because sampled numbers are estimates and may be inconsistent.
  friend constexpr BlockCount operator-(const BlockCount& all, const BlockCount& part) noexcept {
    return {all.blocks - std::min(all.blocks, part.blocks),
            all.bytes - std::min(all.bytes, part.bytes)};
  }
  friend constexpr BlockCount operator+(const BlockCount& one, const BlockCount& other) noexcept {
    return {one.blocks + other.blocks, one.bytes + other.bytes};
  }
  friend constexpr bool operator==(const BlockCount&, const BlockCount&) noexcept = default;
};

/// The blocks of a stack, partitioned by lifetime.
struct LifetimeBreakdown {
  /// Blocks that were freed and were not live at the peak.
  BlockCount rest;
  /// Blocks that were live at the peak and freed later.
  BlockCount peak_only;
  /// Blocks that were live at the peak and at the end.
  BlockCount both;
  /// Blocks that were live at the end but not at the peak.
  BlockCount end_only;

  friend constexpr bool operator==(const LifetimeBreakdown&,
                                   const LifetimeBreakdown&) noexcept = default;
};

namespace internal {

/// Returns whether `part` can be a subset of `all`: neither part nor rest has bytes but no blocks.
[[nodiscard]] constexpr bool can_be_part(const BlockCount& part, const BlockCount& all) noexcept {
  if (part.blocks > all.blocks || part.bytes > all.bytes) return false;
  const BlockCount left = all - part;
  return (part.blocks > 0 || part.bytes == 0) && (left.blocks > 0 || left.bytes == 0);
}

}  // namespace internal

/// Splits `all` by lifetime, consistent with `at_peak` and `at_end`, with at least `least_rest`
/// blocks in `rest`. Returns nullopt if impossible. The number of blocks live at both times is
/// unknown. Tries the maximum, maximum minus 1, and minimum: if any number is possible, one of the
/// three is. (Between the extremes, every part has blocks and so may have bytes.)
[[nodiscard]] constexpr std::optional<LifetimeBreakdown> split_held(
    const BlockCount& all, const BlockCount& at_peak, const BlockCount& at_end,
    std::uint64_t least_rest) noexcept {
  using internal::can_be_part;
  if (!can_be_part(at_peak, all) || !can_be_part(at_end, all)) return std::nullopt;
  const BlockCount most{std::min(at_peak.blocks, at_end.blocks),
                        std::min(at_peak.bytes, at_end.bytes)};
  const BlockCount least = at_peak + at_end - all;
  const BlockCount between{most.blocks - (most.blocks > 0 ? 1 : 0), most.bytes};
  for (const BlockCount& both : {most, between, least}) {
    const BlockCount either = at_peak + at_end - both;
    const bool fits = both.blocks >= least.blocks && both.bytes >= least.bytes &&
                      can_be_part(both, at_peak) && can_be_part(both, at_end) &&
                      can_be_part(either, all) && (all - either).blocks >= least_rest;
    if (fits) return LifetimeBreakdown{all - either, at_peak - both, both, at_end - both};
  }
  return std::nullopt;
}

}  // namespace alloctap
