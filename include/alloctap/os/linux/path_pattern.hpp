/// Patterns by regcomp(3), which does not report the position of an error.
#pragma once

#include <regex.h>

#include <utility>

#include "alloctap/os/path_pattern.hpp"
#include "alloctap/os/throw_bad_alloc.hpp"

namespace alloctap::os {

struct PathPattern::Compiled {
  explicit Compiled(const std::string& pattern)
      : result(::regcomp(&regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {}
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (result == 0) ::regfree(&regex);
  }

  regex_t regex{};
  int result;
};

/// Returns the length of the longest valid proper prefix of `pattern`, as the error's position.
inline std::size_t position_of_pattern_error(const std::string& pattern,
                                             bool (*is_right)(const std::string&)) {
  for (std::size_t length = pattern.size(); length > 0; --length) {
    if (is_right(pattern.substr(0, length - 1))) return length - 1;
  }
  return 0;
}

inline PathPattern::PathPattern(const std::string& pattern, PatternError& error)
    : compiled_(std::make_unique<Compiled>(pattern)) {
  error = {};
  if (compiled_->result == 0) return;
  if (compiled_->result == REG_ESPACE) throw_bad_alloc();
  char text[256];
  ::regerror(compiled_->result, &compiled_->regex, text, sizeof text);
  error.text = text;
  error.position = position_of_pattern_error(
      pattern, [](const std::string& start) { return Compiled(start).result == 0; });
}

inline PathPattern::PathPattern(PathPattern&&) noexcept = default;
inline PathPattern& PathPattern::operator=(PathPattern&&) noexcept = default;
inline PathPattern::~PathPattern() = default;

inline bool PathPattern::matches(const std::string& text) const {
  if (compiled_->result != 0) return false;
  const int result = ::regexec(&compiled_->regex, text.c_str(), 0, nullptr, 0);
  if (result == REG_ESPACE) throw_bad_alloc();
  return result == 0;
}

}  // namespace alloctap::os
