/// Allocation counts by symbolized stack, their comparison with a baseline, and the result as text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/human_units.hpp"
#include "alloctap/testing/counted_stack.hpp"

namespace alloctap::testing {

/// The frames of a stack, leaf first, each as "module  function" with "?" for unknown parts. Never
/// empty: a stack without frames has a line such as "(no stack)".
using BaselineStack = std::vector<std::string>;

/// Allocation counts by stack, comparable between runs and builds. Stacks that differ only by the
/// call site in a function are equal here, so their counts add up.
struct Baseline {
  std::map<BaselineStack, BaselineCount> stacks;

  [[nodiscard]] BaselineCount total() const noexcept {
    BaselineCount sum;
    for (const auto& [stack, count] : stacks) sum += count;
    return sum;
  }

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

/// Maximum deviation from the baseline: the larger of an absolute number and a percentage. A
/// negative or NaN percentage counts as 0.
struct Tolerance {
  std::uint64_t absolute = 0;
  double percent = 0;

  /// Returns a tolerance without limits.
  [[nodiscard]] static constexpr Tolerance any() noexcept {
    return {.absolute = std::numeric_limits<std::uint64_t>::max()};
  }

  [[nodiscard]] constexpr bool allows(std::uint64_t before, std::uint64_t after) const noexcept {
    const std::uint64_t change = before < after ? after - before : before - after;
    if (change <= absolute) return true;
    return static_cast<double>(change) * 100 <= percent * static_cast<double>(before);
  }
};

/// Tolerances of a comparison. By default, counts of each stack, and so totals, must be equal. If
/// you set a tolerance for stacks, set one for the totals to bound the sum of deviations.
struct BaselineTolerance {
  Tolerance stack_allocations = {};
  Tolerance stack_bytes = {};
  Tolerance total_allocations = Tolerance::any();
  Tolerance total_bytes = Tolerance::any();
  /// Accepts any decrease. By default a decrease fails, so that the user updates the baseline.
  /// Without the update, a later increase up to the old counts would pass.
  bool allows_fewer = false;
};

/// A stack whose counts changed; `before` is zero for a new stack, `after` for a vanished one.
struct BaselineChange {
  BaselineStack stack;
  BaselineCount before;
  BaselineCount after;
};

struct BaselineComparison {
  BaselineCount before;
  BaselineCount after;
  /// Changes beyond the tolerance; sorted by growth in bytes, then in allocations, then by stack.
  std::vector<BaselineChange> changes;
  /// Number of stacks whose counts changed within the tolerance.
  std::size_t tolerated = 0;
  bool total_exceeded = false;

  [[nodiscard]] bool passes() const noexcept { return changes.empty() && !total_exceeded; }
};

/// Compares a measurement with a baseline. Control plane.
class BaselineComparer {
 public:
  explicit BaselineComparer(const BaselineTolerance& tolerance) noexcept : tolerance_(tolerance) {}

  [[nodiscard]] BaselineComparison compare(const Baseline& before, const Baseline& after) {
    result_.before = before.total();
    result_.after = after.total();
    for (const auto& [stack, count] : before.stacks) {
      const auto found = after.stacks.find(stack);
      compare_stack(stack, count, found == after.stacks.end() ? BaselineCount() : found->second);
    }
    for (const auto& [stack, count] : after.stacks) {
      if (!before.stacks.contains(stack)) compare_stack(stack, {}, count);
    }
    result_.total_exceeded = !allowed(result_.before, result_.after, tolerance_.total_allocations,
                                      tolerance_.total_bytes);
    std::sort(result_.changes.begin(), result_.changes.end(), &is_larger);
    return std::move(result_);
  }

 private:
  void compare_stack(const BaselineStack& stack, const BaselineCount& before,
                     const BaselineCount& after) {
    if (before == after) return;
    if (allowed(before, after, tolerance_.stack_allocations, tolerance_.stack_bytes)) {
      ++result_.tolerated;
    } else {
      result_.changes.push_back({.stack = stack, .before = before, .after = after});
    }
  }

  [[nodiscard]] bool allowed(const BaselineCount& before, const BaselineCount& after,
                             const Tolerance& allocations, const Tolerance& bytes) const noexcept {
    const auto passes = [this](const Tolerance& tolerance, std::uint64_t from, std::uint64_t to) {
      return (tolerance_.allows_fewer && to <= from) || tolerance.allows(from, to);
    };
    return passes(allocations, before.allocations, after.allocations) &&
           passes(bytes, before.bytes, after.bytes);
  }

  static bool is_larger(const BaselineChange& a, const BaselineChange& b) noexcept {
    // Unsigned subtraction wraps, so the conversion to a signed type is correct for either order.
    const auto growth = [](std::uint64_t from, std::uint64_t to) {
      return static_cast<std::int64_t>(to - from);
    };
    const std::int64_t a_bytes = growth(a.before.bytes, a.after.bytes);
    const std::int64_t b_bytes = growth(b.before.bytes, b.after.bytes);
    if (a_bytes != b_bytes) return a_bytes > b_bytes;
    const std::int64_t a_calls = growth(a.before.allocations, a.after.allocations);
    const std::int64_t b_calls = growth(b.before.allocations, b.after.allocations);
    return a_calls != b_calls ? a_calls > b_calls : a.stack < b.stack;
  }

  const BaselineTolerance tolerance_;
  BaselineComparison result_;
};

/// Compares a measurement with a baseline. Control plane.
[[nodiscard]] inline BaselineComparison compare_baselines(const Baseline& before,
                                                          const Baseline& after,
                                                          const BaselineTolerance& tolerance = {}) {
  return BaselineComparer(tolerance).compare(before, after);
}

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

/// Returns a line with the totals, then the change and the frames of each of the first `most`
/// stacks in `comparison.changes`. Each line ends in a line feed.
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
