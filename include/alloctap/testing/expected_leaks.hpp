/// Suppression rules for known leaks of test cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/file_contents.hpp"
#include "alloctap/snapshot/rule_match.hpp"
#include "alloctap/snapshot/suppression_pattern.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/status.hpp"

namespace alloctap::testing {

/// Leak suppressions in LeakSanitizer's syntax (`Suppressions`), allocated in the arena. Control
/// plane; not thread-safe.
class ExpectedLeaks {
 public:
  /// Adds the program's built-in rules (`Suppressions::add_defaults`) and the rules in the file
  /// that ALLOCTAP_SUPPRESSIONS names. Fails if the file cannot be read or a rule is invalid.
  [[nodiscard]] Status read() {
    Status status = rules_.add_defaults();
    const char* const path = std::getenv("ALLOCTAP_SUPPRESSIONS");
    if (status.ok() && path != nullptr && *path != '\0') status = add_file(path);
    return status;
  }

  [[nodiscard]] Status add(std::string_view text, std::string_view source) {
    return rules_.add(text, source);
  }

  /// Adds the rules in the file at `path`.
  [[nodiscard]] Status add_file(const char* path) {
    ArenaArray<char> contents;
    const int error = read_file(path, kMaxBytes, contents);
    if (error == 0) return add(text_of(contents), path);
    return Status::unavailable("cannot read the suppressions ", path, ": ", os::error_text(error));
  }

  /// Returns true if a suppression rule matches a frame of the allocation at `frames` (leaf first).
  /// Also returns true if `only-` rules exist and no frame matches an `only-` rule.
  [[nodiscard]] bool have(std::span<const NamedFrame> frames) const {
    const std::uint32_t first_allowing =
        find_rule(rules_.leak_rules(), true, [](const SuppressionRule&) { return true; });
    return RuleVerdict::of(innermost(frames, false), innermost(frames, true), first_allowing)
               .suppressed_by != Suppressions::kNoRule;
  }

 private:
  static constexpr std::size_t kMaxBytes = 1 << 20;

  [[nodiscard]] std::uint32_t innermost(std::span<const NamedFrame> frames, bool only) const {
    for (const NamedFrame& frame : frames) {
      const std::uint32_t rule = find_rule(
          rules_.leak_rules(), only,
          [&](const SuppressionRule& candidate) { return names(candidate.pattern, frame); });
      if (rule != Suppressions::kNoRule) return rule;
    }
    return Suppressions::kNoRule;
  }

  static bool names(std::string_view pattern, const NamedFrame& frame) noexcept {
    return matches_pattern(pattern, frame.function) || matches_pattern(pattern, frame.file) ||
           matches_pattern(pattern, frame.module);
  }

  Suppressions rules_;
};

}  // namespace alloctap::testing
