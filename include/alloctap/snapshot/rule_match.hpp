/// Matches suppression rules against frames.
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

/// Returns whether `pattern` matches a function (inlined or not), the source file or the module of
/// frame number `frame`. `Frames` is an indexed list such as `FrameList` (dump/frame_list.hpp).
template <class Frames>
[[nodiscard]] bool names_frame(std::string_view pattern, const Frames& frames, std::size_t frame) {
  const Module* module = frames.place(frame).module;
  if (module != nullptr && matches_pattern(pattern, module->path)) return true;
  const auto source = frames.source(frame);
  return std::any_of(source.begin(), source.end(), [pattern](const SourceFrame& place) {
    return matches_pattern(pattern, place.function) || matches_pattern(pattern, place.file);
  });
}

/// Returns the index of the first rule for which `holds(rule)` returns true, or
/// `Suppressions::kNoRule`. If `only` is true, considers only `only-` rules, otherwise all others.
template <class Holds>
[[nodiscard]] std::uint32_t find_rule(std::span<const SuppressionRule> rules, bool only,
                                      Holds&& holds) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].only == only && holds(rules[i])) return static_cast<std::uint32_t>(i);
  }
  return Suppressions::kNoRule;
}

/// The result of matching all rules against one leak or fault.
struct RuleVerdict {
  /// The rule that suppresses the leak or fault; `kNoRule` if it is reported.
  std::uint32_t suppressed_by = Suppressions::kNoRule;
  /// The suppression rule or `only-` rule that matched; `kNoRule` if no rule matched.
  std::uint32_t matched = Suppressions::kNoRule;

  /// Combines the first matching suppression rule and the first matching `only-` rule.
  /// `first_allowing` is the first `only-` rule of the list. Each index may be `kNoRule`.
  [[nodiscard]] static constexpr RuleVerdict of(std::uint32_t suppressing, std::uint32_t allowing,
                                                std::uint32_t first_allowing) noexcept {
    constexpr std::uint32_t kNoRule = Suppressions::kNoRule;
    if (suppressing != kNoRule) return {suppressing, suppressing};
    if (allowing != kNoRule) return {kNoRule, allowing};
    return {first_allowing, kNoRule};
  }
};

}  // namespace alloctap
