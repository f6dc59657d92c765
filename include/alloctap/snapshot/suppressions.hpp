/// Rules that say which live blocks are no leaks.
#pragma once

#include <absl/status/status.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/guard/arena_array.hpp"
#include "alloctap/guard/text_pool.hpp"
#include "alloctap/os/default_suppressions.hpp"

namespace alloctap {

/// `leak:PATTERN`: blocks of a stack with a frame whose function, source file or module matches are
/// expected.
struct SuppressionRule {
  /// For `matches_pattern`.
  std::string_view pattern;
  /// Where it was read, and in which line.
  std::string_view source;
  std::uint32_t line = 0;
};

/// Rules in the syntax of LeakSanitizer: one in each line, `#` begins a comment line, and empty
/// lines say nothing. Blanks around a rule do not count. Memory from the arena. Move-only; not
/// thread-safe. Control plane.
class Suppressions {
 public:
  /// What LeakSanitizer's users define to suppress leaks of the program itself.
  static constexpr std::string_view kDefaultSource = "__lsan_default_suppressions";

  constexpr Suppressions() noexcept = default;

  /// Adds the rules in `text`, none where one of them is wrong; `source` names the text in messages
  /// and reports. Copies both.
  [[nodiscard]] absl::Status add(std::string_view text, std::string_view source) {
    const std::size_t before = rules_.size();
    const std::string_view name = pool_.keep(source);
    std::uint32_t line = 1;
    for (bool more = true; more; ++line) {
      const std::size_t end = text.find('\n');
      const absl::Status status = add_line(trimmed(text.substr(0, end)), name, line);
      if (!status.ok()) {
        static_cast<void>(rules_.resize(before));
        return status;
      }
      more = end != text.npos;
      text.remove_prefix(more ? end + 1 : text.size());
    }
    return absl::OkStatus();
  }

  /// Adds the rules that the program brings itself: it defines `const char*
  /// __lsan_default_suppressions()` with C linkage, in a place where the loader finds it (in a
  /// shared object, or in a program linked with -rdynamic or with this library). Calls it.
  [[nodiscard]] absl::Status add_defaults() {
    const char* const text = os::default_suppressions();
    return text == nullptr ? absl::OkStatus() : add(text, kDefaultSource);
  }

  [[nodiscard]] std::span<const SuppressionRule> rules() const noexcept {
    return {rules_.data(), rules_.size()};
  }

 private:
  static constexpr std::string_view kType = "leak:";

  static std::string_view trimmed(std::string_view line) noexcept {
    constexpr std::string_view kBlanks = " \t\r\f\v";
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    return line.substr(0, line.find_last_not_of(kBlanks) + 1);
  }

  absl::Status add_line(std::string_view line, std::string_view source, std::uint32_t number) {
    if (line.empty() || line.front() == '#') return absl::OkStatus();
    const bool is_rule = line.starts_with(kType) && line.size() > kType.size();
    if (!is_rule || line.size() > TextPool::kLongest) return bad_line(line, source, number);
    const std::string_view pattern = pool_.keep(line.substr(kType.size()));
    if (!pattern.empty() && rules_.push_back({pattern, source, number})) return absl::OkStatus();
    return absl::ResourceExhaustedError("suppressions: the system has no memory for them");
  }

  static absl::Status bad_line(std::string_view line, std::string_view source,
                               std::uint32_t number) {
    constexpr std::size_t kMostShown = 60;
    const absl::string_view shown(line.data(), std::min(line.size(), kMostShown));
    return absl::InvalidArgumentError(
        absl::StrCat(absl::string_view(source.data(), source.size()), ":", number, ": \"",
                     absl::Utf8SafeCHexEscape(shown), line.size() > kMostShown ? "..." : "",
                     "\" is no suppression of leaks; write leak:PATTERN, or # in front of it"));
  }

  ArenaArray<SuppressionRule> rules_;
  TextPool pool_;
};

}  // namespace alloctap
