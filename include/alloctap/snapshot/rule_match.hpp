/// Which frames a rule names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/snapshot/suppression_pattern.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/source_frame.hpp"

namespace alloctap {

/// Whether the function, an inlined one, the source file or the module of the frame with that
/// number matches. `Frames` numbers frames and knows their names as `FrameList` does
/// (dump/frame_list.hpp).
template <class Frames>
[[nodiscard]] bool names_frame(std::string_view pattern, const Frames& frames, std::size_t frame) {
  const Module* module = frames.place(frame).module;
  if (module != nullptr && matches_pattern(pattern, module->path)) return true;
  const auto source = frames.source(frame);
  return std::any_of(source.begin(), source.end(), [pattern](const SourceFrame& place) {
    return matches_pattern(pattern, place.function) || matches_pattern(pattern, place.file);
  });
}

/// The number of the first of `rules` for which `holds(rule)`, of those of an allow-list (`only`)
/// or of the others; `Suppressions::kNoRule` where there is none.
template <class Holds>
[[nodiscard]] std::uint32_t find_rule(std::span<const SuppressionRule> rules, bool only,
                                      Holds&& holds) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].only == only && holds(rules[i])) return static_cast<std::uint32_t>(i);
  }
  return Suppressions::kNoRule;
}

/// What rules say of something that a report would show.
struct RuleVerdict {
  /// `kNoRule`: it is shown.
  std::uint32_t suppressed_by = Suppressions::kNoRule;
  /// The rule that matched: it is the one that suppresses, or one that lets through.
  std::uint32_t matched = Suppressions::kNoRule;

  /// `suppressing` and `allowing` are the rules that match of those that suppress and of an
  /// allow-list, `first_allowing` the first that there is of it; each may be `kNoRule`.
  [[nodiscard]] static constexpr RuleVerdict of(std::uint32_t suppressing, std::uint32_t allowing,
                                                std::uint32_t first_allowing) noexcept {
    constexpr std::uint32_t kNoRule = Suppressions::kNoRule;
    if (suppressing != kNoRule) return {suppressing, suppressing};
    if (allowing != kNoRule) return {kNoRule, allowing};
    return {first_allowing, kNoRule};
  }
};

}  // namespace alloctap
