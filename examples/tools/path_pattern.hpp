/// Paths of dumps in which `%p` stands for a process id, `%n` for the number of a dump and `%%` for
/// '%'.
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

/// The path of standard output, where the system has one. Reports for it go to what the program was
/// started with, even if the program has closed it.
inline constexpr char kStandardOutputPath[] = "/dev/stdout";
/// The path of standard error. Reports for it go there too, as long as the program has not replaced
/// it.
inline constexpr char kStandardErrorPath[] = "/dev/stderr";

/// The decimal digits of a number, in a buffer of its own.
class Digits {
 public:
  template <class Integer>
  explicit Digits(Integer number) noexcept {
    const char* end = std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr;
    size_ = static_cast<std::size_t>(end - text_.data());
  }

  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 12> text_{};
  std::size_t size_ = 0;
};

/// Writes `pattern` to `buffer` with the pid for `%p`, the dump's number for `%n` and '%' for `%%`,
/// and a '\0' behind it. Empty where the buffer is too small. Any other '%' stands for itself.
/// Allocates nothing.
[[nodiscard]] inline std::string_view expand_path(std::string_view pattern, std::int32_t pid,
                                                  std::uint32_t number,
                                                  std::span<char> buffer) noexcept {
  const Digits pid_text(pid);
  const Digits number_text(number);
  std::size_t filled = 0;
  while (!pattern.empty()) {
    const bool is_pid = pattern.starts_with("%p");
    const bool is_number = pattern.starts_with("%n");
    const std::string_view piece = is_pid      ? pid_text.view()
                                   : is_number ? number_text.view()
                                               : pattern.substr(0, 1);
    if (filled + piece.size() >= buffer.size()) return {};
    std::memcpy(buffer.data() + filled, piece.data(), piece.size());
    filled += piece.size();
    pattern.remove_prefix(is_pid || is_number || pattern.starts_with("%%") ? 2 : 1);
  }
  if (filled == 0) return {};
  buffer[filled] = '\0';
  return {buffer.data(), filled};
}

/// Whether no directory is needed to find `path`: "/a", and as Windows writes it "C:/a" and
/// "//a/b", with '\\' for any '/'.
[[nodiscard]] constexpr bool is_absolute(std::string_view path) noexcept {
  const auto is_slash = [](char c) { return c == '/' || c == '\\'; };
  const bool has_drive = path.size() > 2 && path[1] == ':';
  return !path.empty() && is_slash(has_drive ? path[2] : path[0]);
}

/// The first '%' with what follows it that is none of the three; empty where there is none.
[[nodiscard]] inline std::string_view find_unknown_placeholder(std::string_view pattern) noexcept {
  for (std::size_t i = pattern.find('%'); i != pattern.npos; i = pattern.find('%', i + 2)) {
    const std::string_view placeholder = pattern.substr(i, 2);
    if (placeholder != "%p" && placeholder != "%n" && placeholder != "%%") return placeholder;
  }
  return {};
}

/// Whether `placeholder` is in the pattern.
[[nodiscard]] inline bool has_placeholder(std::string_view pattern,
                                          std::string_view placeholder) noexcept {
  for (std::size_t i = pattern.find('%'); i != pattern.npos; i = pattern.find('%', i + 2)) {
    if (pattern.substr(i, 2) == placeholder) return true;
  }
  return false;
}

/// Whether the pattern gives every process a path of its own.
[[nodiscard]] inline bool names_process(std::string_view pattern) noexcept {
  return has_placeholder(pattern, "%p");
}

/// Whether the pattern gives every dump of a process a path of its own.
[[nodiscard]] inline bool names_dump(std::string_view pattern) noexcept {
  return has_placeholder(pattern, "%n");
}

/// The pattern that expands to exactly `path`.
[[nodiscard]] inline std::string escape_path(std::string_view path) {
  std::string pattern;
  for (const char c : path) pattern.append(c == '%' ? 2 : 1, c);
  return pattern;
}

}  // namespace alloctap::run
