/// Patterns by std::regex in POSIX extended syntax, because the C library has no regcomp.
/// Exceptions do not leave this file.
#pragma once

#include <optional>
#include <regex>
#include <utility>

#include "alloctap/os/path_pattern.hpp"

namespace alloctap::os {

struct PathPattern::Compiled {
  explicit Compiled(const std::string& pattern) {
    try {
      regex.emplace(pattern, std::regex::extended | std::regex::nosubs);
    } catch (const std::regex_error& error) {
      text = error.what();
    }
  }

  std::optional<std::regex> regex;
  std::string text;
};

/// Compiles the pattern. The position of an error is the length of the longest valid proper prefix.
inline PathPattern::PathPattern(const std::string& pattern, PatternError& error)
    : compiled_(std::make_unique<Compiled>(pattern)) {
  error = {};
  if (compiled_->regex) return;
  error.text = compiled_->text;
  for (std::size_t length = pattern.size(); length > 0; --length) {
    if (!Compiled(pattern.substr(0, length - 1)).regex) continue;
    error.position = length - 1;
    return;
  }
}

inline PathPattern::PathPattern(PathPattern&&) noexcept = default;
inline PathPattern& PathPattern::operator=(PathPattern&&) noexcept = default;
inline PathPattern::~PathPattern() = default;

inline bool PathPattern::matches(const std::string& text) const {
  if (!compiled_->regex) return false;
  try {
    return std::regex_search(text, *compiled_->regex);
  } catch (const std::regex_error&) {
    // The match exceeds the library's complexity limit.
    return false;
  }
}

}  // namespace alloctap::os
