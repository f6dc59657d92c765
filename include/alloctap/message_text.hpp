/// Text formatting: joining, hexadecimal numbers, C escapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/status.hpp"

namespace alloctap {

/// Appends `parts`, of the types that `MessagePart` accepts. Allocates.
template <class... Parts>
void append_text(std::string& text, const Parts&... parts) {
  (text.append(MessagePart(parts).text()), ...);
}

/// Returns the concatenation of `parts`.
template <class... Parts>
[[nodiscard]] std::string join_text(const Parts&... parts) {
  std::string text;
  append_text(text, parts...);
  return text;
}

/// Returns "OK", or code and message: "NOT_FOUND: no such file".
[[nodiscard]] inline std::string to_string(const Status& status) {
  if (status.ok()) return "OK";
  return join_text(name_of(status.code()), ": ", status.message());
}

/// Returns `number` in lower-case hexadecimal digits, without "0x".
[[nodiscard]] inline std::string hex_text(std::uint64_t number) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
    number /= 16;
  } while (number != 0);
  return digits;
}

/// Escapes control characters, quotes and backslashes as in C: \n, \", \x1b.
[[nodiscard]] inline std::string escaped_text(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    if (character == '\n') {
      escaped += "\\n";
    } else if (character == '\t') {
      escaped += "\\t";
    } else if (character == '\r') {
      escaped += "\\r";
    } else if (character == '"' || character == '\'' || character == '\\') {
      append_text(escaped, '\\', character);
    } else if (code < 0x20 || code == 0x7f) {
      append_text(escaped, code < 0x10 ? "\\x0" : "\\x", hex_text(code));
    } else {
      escaped += character;
    }
  }
  return escaped;
}

}  // namespace alloctap
