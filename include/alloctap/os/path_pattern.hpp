/// POSIX extended regular expressions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace alloctap::os {

/// What is wrong with a pattern.
struct PatternError {
  /// In the system's words; empty where nothing is wrong.
  std::string text;
  /// The character, counted from 0, behind which no continuation that the pattern has makes it
  /// right: where an open bracket stands, for example.
  std::size_t position = 0;
};

/// A compiled pattern. Move-only. Control plane: it allocates.
class PathPattern {
 public:
  /// Compiles `pattern`; `error` receives what is wrong with it.
  PathPattern(const std::string& pattern, PatternError& error);
  PathPattern(PathPattern&&) noexcept;
  PathPattern& operator=(PathPattern&&) noexcept;
  ~PathPattern();

  /// Whether some part of `text` matches. False for a pattern with an error.
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
