/// What tests found out about memory, in a form that reports for other programs are made from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/testing/leaked_case.hpp"

namespace alloctap::testing {

enum class FindingKind : std::uint8_t {
  kLeak,
  /// An allocation where none was allowed.
  kAllocation,
  /// Memory that grows from run to run.
  kGrowth,
  kBudget,
  kBaseline,
  kMisuse,
  /// Blocks that grow step by step.
  kReserve,
};

enum class FindingLevel : std::uint8_t { kError, kWarning, kNote };

/// A stack that is told with a finding, leaf first, and what it is: "allocated by".
struct FindingStack {
  std::string title = {};
  std::vector<FrameText> frames = {};
};

/// One thing that is wrong. Whatever is not known is empty, or 0.
struct Finding {
  FindingKind kind = FindingKind::kLeak;
  FindingLevel level = FindingLevel::kError;
  /// The name of the rule that was broken; that of its kind where it is empty.
  std::string rule = {};
  std::string message = {};
  std::string test_suite = {};
  std::string test_case = {};
  /// Where it is to be shown; the place of the first stack where it is empty.
  std::string file = {};
  std::uint32_t line = 0;
  std::vector<FindingStack> stacks = {};
  /// Blocks, calls or times, and bytes; of whatever `message` says.
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

/// A test that ran.
struct RunTest {
  std::string test_suite = {};
  std::string test_case = {};
  std::uint64_t milliseconds = 0;
};

/// What a report is made of.
struct Findings {
  std::vector<Finding> all;
  /// Those that passed too, for reports that count them; a finding of a test that is not among them
  /// adds it.
  std::vector<RunTest> tests;
};

/// What is said of all findings of a kind.
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

/// Never empty.
[[nodiscard]] inline std::string_view message_of(const Finding& finding) noexcept {
  return finding.message.empty() ? rule_of(finding.kind).summary
                                 : std::string_view(finding.message);
}

/// The stacks in lines that end in line feeds.
[[nodiscard]] inline std::string stacks_text(const Finding& finding) {
  std::string text;
  for (const FindingStack& stack : finding.stacks) {
    if (!stack.title.empty()) text += stack.title + '\n';
    for (const FrameText& frame : stack.frames) text += "  " + to_text(frame) + '\n';
  }
  return text;
}

}  // namespace alloctap::testing
