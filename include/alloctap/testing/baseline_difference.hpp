/// Text output of a comparison with a baseline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/dump/human_units.hpp"
#include "alloctap/testing/baseline_comparison.hpp"
#include "alloctap/testing/count_text.hpp"
#include "alloctap/testing/counted_stack.hpp"

namespace alloctap::testing {

/// Returns "12 -> 13 allocations (+1)"; if both numbers are equal, "12 allocations".
[[nodiscard]] inline std::string change_text(std::uint64_t before, std::uint64_t after,
                                             std::string_view unit) {
  std::string text;
  const auto append_number = [&](std::uint64_t number) { text += with_commas(number).view(); };
  append_number(before);
  if (after != before) {
    text += " -> ";
    append_number(after);
  }
  text += ' ';
  text += unit;
  text += plural(after);
  if (after == before) return text;
  text += after > before ? " (+" : " (-";
  append_number(after > before ? after - before : before - after);
  return text + ')';
}

/// Returns "12 -> 13 allocations (+1), 4,096 -> 5,000 bytes (+904)".
[[nodiscard]] inline std::string change_text(const BaselineCount& before,
                                             const BaselineCount& after) {
  return change_text(before.allocations, after.allocations, "allocation") + ", " +
         change_text(before.bytes, after.bytes, "byte");
}

/// Returns "new: 1 allocation, 8 bytes", "gone: ..." or "changed: 1 -> 2 allocations (+1), ...".
[[nodiscard]] inline std::string change_text(const BaselineChange& change) {
  const BaselineCount none;
  if (change.before == none) return "new: " + change_text(change.after, change.after);
  if (change.after == none) return "gone: " + change_text(change.before, change.before);
  return "changed: " + change_text(change.before, change.after);
}

/// Returns a line with the totals and a line for each of the `most` stacks that grew most. Each
/// line ends in a line feed.
[[nodiscard]] inline std::string difference_text(const BaselineComparison& comparison,
                                                 std::size_t most = 20) {
  std::string text = "  total: " + change_text(comparison.before, comparison.after) +
                     (comparison.total_exceeded ? ", beyond its tolerance\n" : "\n");
  const std::size_t shown = std::min(most, comparison.changes.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const BaselineChange& change = comparison.changes[i];
    text += "  " + change_text(change) + '\n';
    for (const std::string& frame : change.stack) text += "    " + frame + '\n';
  }
  if (const std::size_t rest = comparison.changes.size() - shown; rest > 0) {
    text += "  and " + count_text(rest, "more stack") + "\n";
  }
  if (comparison.tolerated > 0) {
    text += "  within the tolerance: " + count_text(comparison.tolerated, "more stack") + "\n";
  }
  return text;
}

}  // namespace alloctap::testing
