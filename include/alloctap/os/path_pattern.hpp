/// POSIX extended regular expressions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace alloctap::os {

/// A syntax error in a pattern.
struct PatternError {
  /// The system's error message; empty if the pattern is valid.
  std::string text;
  /// Length of the longest valid proper prefix, such as the index of an unclosed bracket.
  std::size_t position = 0;
};

/// A compiled pattern. Move-only. Control plane, because it allocates.
class PathPattern {
 public:
  /// Compiles `pattern`. Stores the syntax error in `error`; an empty one if the pattern is valid.
  PathPattern(const std::string& pattern, PatternError& error);
  PathPattern(PathPattern&&) noexcept;
  PathPattern& operator=(PathPattern&&) noexcept;
  ~PathPattern();

  /// Returns true if some part of `text` matches. Returns false if the pattern has an error.
  [[nodiscard]] bool matches(const std::string& text) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/path_pattern.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/path_pattern.hpp"
#else
#error "alloctap/os/path_pattern.hpp has no implementation for this system"
#endif
