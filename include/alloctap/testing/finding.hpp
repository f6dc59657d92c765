/// Findings: memory problems found by tests, and the input of report formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/testing/leaked_case.hpp"

namespace alloctap::testing {

enum class FindingKind : std::uint8_t {
  kLeak,
  /// An allocation in a no-allocation scope.
  kAllocation,
  /// Memory that grows with each mark or repetition.
  kGrowth,
  kBudget,
  kBaseline,
  kMisuse,
  /// A buffer that should reserve capacity instead of growing repeatedly.
  kReserve,
};

enum class FindingLevel : std::uint8_t { kError, kWarning, kNote };

/// A stack of a finding, leaf first, with its role, such as "allocated by".
struct FindingStack {
  std::string title = {};
  std::vector<FrameText> frames = {};
};

/// One problem. Unknown members are empty or 0.
struct Finding {
  FindingKind kind = FindingKind::kLeak;
  FindingLevel level = FindingLevel::kError;
  /// Id of the violated rule; if empty, the id of the rule for `kind`.
  std::string rule = {};
  std::string message = {};
  std::string test_suite = {};
  std::string test_case = {};
  /// Source location to show; if empty, the location of the first stack.
  std::string file = {};
  std::uint32_t line = 0;
  std::vector<FindingStack> stacks = {};
  /// Numbers that `message` mentions: blocks, calls or occurrences; and bytes.
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

/// A test that ran.
struct RunTest {
  std::string test_suite = {};
  std::string test_case = {};
  std::uint64_t milliseconds = 0;
};

/// The input of a report.
struct Findings {
  std::vector<Finding> all;
  /// Tests that ran, including those that passed, for formats that count tests. Tests with findings
  /// are added automatically.
  std::vector<RunTest> tests;
};

/// The id and description of a kind of finding.
struct FindingRule {
  std::string_view id;
  std::string_view name;
  std::string_view summary;
};

[[nodiscard]] constexpr FindingRule rule_of(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::kLeak:
      return {"leak", "Leak", "Memory is left that nobody gives back."};
    case FindingKind::kAllocation:
      return {"allocation", "Allocation", "Code allocates that must not."};
    case FindingKind::kGrowth:
      return {"growth", "Growth", "Memory grows each time the same is done."};
    case FindingKind::kBudget:
      return {"budget", "Budget", "A part of the program holds more memory than it may."};
    case FindingKind::kBaseline:
      return {"baseline", "Baseline", "Code allocates otherwise than its baseline says."};
    case FindingKind::kMisuse:
      return {"misuse", "Misuse", "A block is used or given back in a way that it must not be."};
    case FindingKind::kReserve:
      return {"reserve", "Reserve", "A block grows step by step where room could be reserved."};
  }
  return {"finding", "Finding", "Something is wrong with memory."};
}

[[nodiscard]] inline std::string_view rule_id(const Finding& finding) noexcept {
  return finding.rule.empty() ? rule_of(finding.kind).id : std::string_view(finding.rule);
}

/// Returns the message, or the summary of the finding's kind. Never empty.
[[nodiscard]] inline std::string_view message_of(const Finding& finding) noexcept {
  return finding.message.empty() ? rule_of(finding.kind).summary
                                 : std::string_view(finding.message);
}

/// Returns all stacks as text; each line ends in a line feed.
[[nodiscard]] inline std::string stacks_text(const Finding& finding) {
  std::string text;
  for (const FindingStack& stack : finding.stacks) {
    if (!stack.title.empty()) text += stack.title + '\n';
    for (const FrameText& frame : stack.frames) text += "  " + to_text(frame) + '\n';
  }
  return text;
}

}  // namespace alloctap::testing
