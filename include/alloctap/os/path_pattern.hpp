/// POSIX extended regular expressions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace alloctap::os {

/// Error in a pattern.
struct PatternError {
  /// Text from the system; empty if the pattern is valid.
  std::string text;
  /// Index of the character after which no continuation makes the pattern valid, for example that
  /// of an open bracket.
  std::size_t position = 0;
};

/// A compiled pattern. Move-only. Control plane: it allocates.
class PathPattern {
 public:
  /// Compiles `pattern`. Stores its error, or an empty one, in `error`.
  PathPattern(const std::string& pattern, PatternError& error);
  PathPattern(PathPattern&&) noexcept;
  PathPattern& operator=(PathPattern&&) noexcept;
  ~PathPattern();

  /// Returns whether some part of `text` matches. False for a pattern with an error.
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
