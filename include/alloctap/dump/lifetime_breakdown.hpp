/// Which blocks of a stack were there when.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace alloctap {

/// Some blocks of one stack.
struct BlockCount {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;

  /// Numbers of samples are estimates, and need not go together: nothing is less than none.
  friend constexpr BlockCount operator-(const BlockCount& all, const BlockCount& part) noexcept {
    return {all.blocks - std::min(all.blocks, part.blocks),
            all.bytes - std::min(all.bytes, part.bytes)};
  }
  friend constexpr BlockCount operator+(const BlockCount& one, const BlockCount& other) noexcept {
    return {one.blocks + other.blocks, one.bytes + other.bytes};
  }
  friend constexpr bool operator==(const BlockCount&, const BlockCount&) noexcept = default;
};

/// The blocks of a stack, in four parts.
struct LifetimeBreakdown {
  /// Came and went, the peak apart.
  BlockCount rest;
  /// Were there at the peak and are not any more.
  BlockCount peak_only;
  /// Were there at the peak and are there in the end.
  BlockCount both;
  /// Came after the peak, or had gone and came again, and are there in the end.
  BlockCount end_only;

  friend constexpr bool operator==(const LifetimeBreakdown&,
                                   const LifetimeBreakdown&) noexcept = default;
};

namespace internal {

/// Whether `part` of `all` leaves what can be: no bytes without blocks.
[[nodiscard]] constexpr bool can_be_part(const BlockCount& part, const BlockCount& all) noexcept {
  if (part.blocks > all.blocks || part.bytes > all.bytes) return false;
  const BlockCount left = all - part;
  return (part.blocks > 0 || part.bytes == 0) && (left.blocks > 0 || left.bytes == 0);
}

}  // namespace internal

/// Parts that add up to `all` blocks, those `at_peak` and those `at_end`, the rest being at least
/// `least_rest` blocks; nothing where there are none. How many blocks were there both times is not
/// known. As many as can be is tried first, then one less, then as few as can be: if any number is
/// possible, one of these is, because between the extremes no part is empty, so none must be of no
/// bytes.
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
