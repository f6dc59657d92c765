/// Memory problems found by tests, their source locations, and the concept of report formats.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/leaked_case.hpp"
#include "alloctap/testing/test_framework.hpp"

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

/// A memory problem. Unknown members are empty or 0.
struct Finding {
  FindingKind kind = FindingKind::kLeak;
  FindingLevel level = FindingLevel::kError;
  /// Id of the violated rule; if empty, the id of the rule for `kind`.
  std::string rule = {};
  std::string message = {};
  std::string test_suite = {};
  std::string test_case = {};
  /// Source location to show. If `file` is empty, a location in the first stack is shown.
  std::string file = {};
  std::uint32_t line = 0;
  std::vector<FindingStack> stacks = {};
  /// Numbers that `message` mentions. `count` is a number of blocks, calls or occurrences.
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

/// Satisfied by formats that can write `findings` to `out`. The `DumpWriter` stores output errors.
template <class F>
concept FindingFormat = requires(const F& format, const Findings& findings, DumpWriter& out) {
  { format.write(findings, out) } -> std::same_as<void>;
};

/// Writes `findings` to `output` (a `DumpOutput`) in the given format. Control plane. Allocations
/// of this function are not recorded.
template <FindingFormat Format, class Output>
  requires DumpOutput<std::remove_reference_t<Output>>
Status write_findings(const Findings& findings, const Format& format, Output&& output) {
  const ReentrancyGuard guard;
  if (Status status = output.open(); !status.ok()) return status;
  DumpWriter writer(output);
  format.write(findings, writer);
  if (Status status = writer.finish(); !status.ok()) return status;
  return output.commit();
}

/// A source location. `file` is empty if unknown; `line` is 0 if only the file is known.
struct SourcePlace {
  std::string file;
  std::uint32_t line = 0;
};

[[nodiscard]] inline bool has_drive(std::string_view path) noexcept {
  return path.size() > 1 && path[1] == ':';
}

/// Returns `file` relative to the directory `root`, or the whole of `file` if it is not below
/// `root` or if `root` is empty. If `file` has a drive letter, replaces backslashes by slashes.
[[nodiscard]] inline std::string path_below(std::string_view file, std::string_view root) {
  std::string path(file);
  std::string parent(root);
  if (has_drive(path)) {
    std::replace(path.begin(), path.end(), '\\', '/');
    std::replace(parent.begin(), parent.end(), '\\', '/');
  }
  while (parent.ends_with('/')) parent.pop_back();
  const bool is_below = !root.empty() && path.size() > parent.size() + 1 &&
                        path.starts_with(parent) && path[parent.size()] == '/';
  return is_below ? path.substr(parent.size() + 1) : path;
}

/// Returns true for frames of the C++ standard library, whose callers are more informative.
[[nodiscard]] inline bool is_of_standard_library(const FrameText& frame) noexcept {
  const std::string_view name = qualified_name(frame.function);
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
}

/// Returns the location to show for `finding`, with a path relative to `root`. This is the
/// finding's own location, if it has one. Otherwise it is the location of a frame of the first
/// stack: of the innermost frame below `root`, else outside of the standard library, else with any
/// location.
[[nodiscard]] inline SourcePlace place_of(const Finding& finding, std::string_view root) {
  if (!finding.file.empty()) return {path_below(finding.file, root), finding.line};
  SourcePlace innermost;
  SourcePlace innermost_own;
  if (finding.stacks.empty()) return innermost;
  for (const FrameText& frame : finding.stacks.front().frames) {
    if (frame.file.empty()) continue;
    SourcePlace place{path_below(frame.file, root), frame.line};
    if (place.file != path_below(frame.file, {})) return place;
    if (innermost.file.empty()) innermost = place;
    if (innermost_own.file.empty() && !is_of_standard_library(frame)) innermost_own = place;
  }
  return innermost_own.file.empty() ? innermost : innermost_own;
}

/// Returns `path` as a URI reference (RFC 3986); relative paths stay relative.
[[nodiscard]] inline std::string uri_of(std::string_view path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~/";
  std::string uri = has_drive(path) ? "file:///" : path.starts_with('/') ? "file://" : "";
  const std::size_t drive = has_drive(path) ? 2 : 0;
  uri += path.substr(0, drive);
  for (const char character : path.substr(drive)) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    const bool is_digit = byte >= '0' && byte <= '9';
    if (is_letter || is_digit || kPlain.find(character) != std::string_view::npos) {
      uri += character;
    } else {
      uri += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return uri;
}

}  // namespace alloctap::testing
