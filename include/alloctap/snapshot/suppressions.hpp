/// Rules that say which live blocks are no leaks, and which faults are expected.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/check/misuse_keys.hpp"
#include "alloctap/check/misuse_kinds.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/default_suppressions.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// `leak:PATTERN`: blocks of a stack with a frame whose function, source file or module matches are
/// expected. `misuse:PATTERN`: so are faults with such a frame in one of their stacks, or those of
/// one kind: `double_free:PATTERN` (`key_of`).
///
/// `only-` before one of these makes it part of an allow-list: where there are such rules for what
/// a report would show, it is expected unless one of them matches.
struct SuppressionRule {
  /// For `matches_pattern`.
  std::string_view pattern;
  /// Where it was read, and in which line.
  std::string_view source;
  std::uint32_t line = 0;
  bool only = false;
  /// What it is about, without `only-`: `kLeak`, `kMisuse`, or the key of one kind.
  std::string_view subject;
  /// Of those; none for leaks.
  MisuseKinds kinds;

  static constexpr std::string_view kLeak = "leak";
  static constexpr std::string_view kMisuse = "misuse";
  static constexpr std::string_view kOnly = "only-";
};

/// Rules in the syntax of LeakSanitizer: one in each line, `#` begins a comment line, and empty
/// lines say nothing. Blanks around a rule do not count. Memory from the arena. Move-only; not
/// thread-safe. Control plane.
class Suppressions {
 public:
  /// Stands for the number of a rule where there is none.
  static constexpr std::uint32_t kNoRule = std::numeric_limits<std::uint32_t>::max();
  /// What LeakSanitizer's users define to suppress leaks of the program itself.
  static constexpr std::string_view kDefaultSource = "__lsan_default_suppressions";

  constexpr Suppressions() noexcept = default;

  /// Adds the rules in `text`, none where one of them is wrong; `source` names the text in messages
  /// and reports. Copies both.
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

  /// Adds the rules that the program brings itself: it defines `const char*
  /// __lsan_default_suppressions()` with C linkage, in a place where the loader finds it (in a
  /// shared object, or in a program linked with -rdynamic or with this library). Calls it.
  [[nodiscard]] Status add_defaults() {
    const char* const text = os::default_suppressions();
    return text == nullptr ? Status() : add(text, kDefaultSource);
  }

  /// Those about leaks, in their order.
  [[nodiscard]] std::span<const SuppressionRule> leak_rules() const noexcept {
    return {leak_rules_.data(), leak_rules_.size()};
  }
  /// Those about faults, in their order.
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

  /// False where `word` is none.
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
    const std::string_view shown(line.data(), std::min(line.size(), kMaxShown));
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

}  // namespace alloctap
