/// Paths of dumps in which `%p` stands for a process id and `%%` for '%'.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace alloctap::run {

/// The longest path pattern, and the size of a buffer for any path, the '\0' included.
inline constexpr std::size_t kPathBytes = 4096;

/// Writes `pattern` to `buffer` with the pid for `%p` and '%' for `%%`, and a '\0' behind it.
/// Empty where the buffer is too small. Any other '%' stands for itself. Allocates nothing.
[[nodiscard]] inline std::string_view expand_path(std::string_view pattern, std::int32_t pid,
                                                  std::span<char> buffer) noexcept {
  std::array<char, 12> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), pid).ptr;
  const std::string_view pid_text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  std::size_t filled = 0;
  while (!pattern.empty()) {
    const bool is_pid = pattern.starts_with("%p");
    const std::string_view piece = is_pid ? pid_text : pattern.substr(0, 1);
    if (filled + piece.size() >= buffer.size()) return {};
    std::memcpy(buffer.data() + filled, piece.data(), piece.size());
    filled += piece.size();
    pattern.remove_prefix(is_pid || pattern.starts_with("%%") ? 2 : 1);
  }
  if (filled == 0) return {};
  buffer[filled] = '\0';
  return {buffer.data(), filled};
}

/// The first '%' with what follows it that is neither `%p` nor `%%`; empty where there is none.
[[nodiscard]] inline std::string_view find_unknown_placeholder(std::string_view pattern) noexcept {
  for (std::size_t i = pattern.find('%'); i != pattern.npos; i = pattern.find('%', i + 2)) {
    const std::string_view placeholder = pattern.substr(i, 2);
    if (placeholder != "%p" && placeholder != "%%") return placeholder;
  }
  return {};
}

/// Whether the pattern gives every process a path of its own.
[[nodiscard]] inline bool names_process(std::string_view pattern) noexcept {
  for (std::size_t i = pattern.find('%'); i != pattern.npos; i = pattern.find('%', i + 2)) {
    if (pattern.substr(i, 2) == "%p") return true;
  }
  return false;
}

/// The pattern that expands to exactly `path`.
[[nodiscard]] inline std::string escape_path(std::string_view path) {
  std::string pattern;
  for (const char c : path) pattern.append(c == '%' ? 2 : 1, c);
  return pattern;
}

}  // namespace alloctap::run
