/// Patterns of suppressions for functions, files and modules.
#pragma once

#include <cstddef>
#include <string_view>

namespace alloctap {

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

}  // namespace alloctap
