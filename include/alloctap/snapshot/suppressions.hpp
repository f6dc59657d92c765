/// Suppression rules for leaks and faults, their patterns, and their matching against frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/check/misuse.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

/// A suppression rule. `leak:PATTERN` suppresses leaked blocks if a frame of their stack matches by
/// function, source file or module. `misuse:PATTERN` suppresses faults if a frame in one of their
/// stacks matches. `double_free:PATTERN` (or another name from `key_of`) suppresses only faults of
/// one kind.
///
/// The prefix `only-` makes a rule part of an allow-list. If an allow-list exists for leaks or a
/// kind of fault, leaks or faults that match no rule of the allow-list are suppressed.
struct SuppressionRule {
  /// The pattern, for `matches_pattern`.
  std::string_view pattern;
  /// Where the rule was read: file and line.
  std::string_view source;
  std::uint32_t line = 0;
  bool only = false;
  /// The word before the colon without `only-`: `kLeak`, `kMisuse`, or a name from `key_of`.
  std::string_view subject;
  /// The kinds of faults that the rule applies to. Empty if the rule applies to leaks.
  MisuseKinds kinds;

  static constexpr std::string_view kLeak = "leak";
  static constexpr std::string_view kMisuse = "misuse";
  static constexpr std::string_view kOnly = "only-";
};

/// A list of rules in LeakSanitizer's syntax: one rule per line. Lines that begin with `#` and
/// blank lines are ignored, as are blanks around a rule. Allocated in the arena. Move-only; not
/// thread-safe. Control plane.
class Suppressions {
 public:
  static constexpr std::uint32_t kNoRule = std::numeric_limits<std::uint32_t>::max();
  /// The function in which programs define suppressions for LeakSanitizer.
  static constexpr std::string_view kDefaultSource = "__lsan_default_suppressions";

  constexpr Suppressions() noexcept = default;

  /// Adds all rules in `text`. Fails and adds no rule if any rule is malformed. `source` is the
  /// name of the text in messages and reports. Copies both strings.
  [[nodiscard]] Status add(std::string_view text, std::string_view source) {
    const std::size_t leaks_before = leak_rules_.size();
    const std::size_t misuses_before = misuse_rules_.size();
    const std::string_view name = pool_.keep(source);
    std::uint32_t line = 1;
    for (bool more = true; more; ++line) {
      const std::size_t end = text.find('\n');
      const Status status = add_line(trimmed(text.substr(0, end)), name, line);
      if (!status.ok()) {
        static_cast<void>(leak_rules_.resize(leaks_before));
        static_cast<void>(misuse_rules_.resize(misuses_before));
        return status;
      }
      more = end != text.npos;
      text.remove_prefix(more ? end + 1 : text.size());
    }
    return Status();
  }

  /// Adds the rules that the program's `const char* __lsan_default_suppressions()` returns. The
  /// loader must be able to find that function. The function therefore needs C linkage, in a shared
  /// object or in a program linked with -rdynamic or with this library.
  [[nodiscard]] Status add_defaults() {
    const char* const text = os::default_suppressions();
    return text == nullptr ? Status() : add(text, kDefaultSource);
  }

  [[nodiscard]] std::span<const SuppressionRule> leak_rules() const noexcept {
    return {leak_rules_.data(), leak_rules_.size()};
  }
  [[nodiscard]] std::span<const SuppressionRule> misuse_rules() const noexcept {
    return {misuse_rules_.data(), misuse_rules_.size()};
  }

 private:
  static std::string_view trimmed(std::string_view line) noexcept {
    constexpr std::string_view kBlanks = " \t\r\f\v";
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    return line.substr(0, line.find_last_not_of(kBlanks) + 1);
  }

  Status add_line(std::string_view line, std::string_view source, std::uint32_t number) {
    if (line.empty() || line.front() == '#') return Status();
    const std::size_t colon = line.find(':');
    const bool has_pattern = colon != line.npos && colon + 1 < line.size();
    if (!has_pattern || line.size() > TextPool::kLongest) return bad_line(line, source, number);
    SuppressionRule rule;
    rule.source = source;
    rule.line = number;
    if (!read_subject(line.substr(0, colon), rule)) return bad_line(line, source, number);
    rule.pattern = pool_.keep(line.substr(colon + 1));
    ArenaArray<SuppressionRule>& rules = rule.kinds.empty() ? leak_rules_ : misuse_rules_;
    if (!rule.pattern.empty() && rules.push_back(rule)) return Status();
    return Status::resource_exhausted("suppressions: the system has no memory for them");
  }

  /// Parses the word before the colon into `rule`. Returns false if the word is unknown.
  static bool read_subject(std::string_view word, SuppressionRule& rule) noexcept {
    rule.only = word.starts_with(SuppressionRule::kOnly);
    if (rule.only) word.remove_prefix(SuppressionRule::kOnly.size());
    if (word == SuppressionRule::kLeak) {
      rule.subject = SuppressionRule::kLeak;
      return true;
    }
    if (word == SuppressionRule::kMisuse) {
      rule.subject = SuppressionRule::kMisuse;
      rule.kinds = MisuseKinds::all();
      return true;
    }
    const std::optional<MisuseKind> kind = misuse_kind_of(word);
    if (!kind) return false;
    rule.subject = key_of(*kind);
    rule.kinds = {*kind};
    return true;
  }

  static Status bad_line(std::string_view line, std::string_view source, std::uint32_t number) {
    constexpr std::size_t kMaxShown = 60;
    const std::string_view shown = cut_text(line, kMaxShown);
    return Status::invalid_argument(
        source, ":", number, ": \"", escaped_text(shown), line.size() > kMaxShown ? "..." : "",
        "\" is no suppression; write leak:PATTERN, misuse:PATTERN or one kind of misuse such as "
        "double_free:PATTERN, each with only- in front of it if nothing else is to be reported, or "
        "# in front of the line");
  }

  ArenaArray<SuppressionRule> leak_rules_;
  ArenaArray<SuppressionRule> misuse_rules_;
  TextPool pool_;
};

/// Returns whether `pattern` occurs in `text`. A leading '^' anchors it at the start, a trailing
/// '$' at the end. '*' matches any characters, or none. An empty text never matches. Patterns are
/// those of LeakSanitizer with two exceptions. A '$' elsewhere is literal. `b$` matches "bab",
/// where LeakSanitizer stops at the first 'b'.
[[nodiscard]] constexpr bool matches_pattern(std::string_view pattern,
                                             std::string_view text) noexcept {
  if (text.empty()) return false;
  bool at_start = pattern.starts_with('^');
  if (at_start) pattern.remove_prefix(1);
  const bool at_end = pattern.ends_with('$');
  if (at_end) pattern.remove_suffix(1);
  for (;;) {
    const std::size_t star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    const bool last = star == pattern.npos;
    if (last && at_end) return at_start ? text == piece : text.ends_with(piece);
    const std::size_t found = text.find(piece);
    if (at_start ? found != 0 : found == text.npos) return false;
    if (last) return true;
    text.remove_prefix(found + piece.size());
    pattern.remove_prefix(star + 1);
    at_start = false;
  }
}

/// Returns whether `pattern` matches a function (inlined or not), the source file or the module of
/// frame number `frame`. `Frames` is an indexed list such as `FrameList` (dump/named_stacks.hpp).
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
