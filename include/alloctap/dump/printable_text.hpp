/// Escaped text of the program, for reports that people read in a terminal.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/json_text.hpp"

namespace alloctap {

/// Text from the program or a recording, such as a name. Written on one line of valid UTF-8, so
/// that the text cannot forge lines of a report or control a terminal.
struct PrintableText {
  explicit constexpr PrintableText(std::string_view from) noexcept : text(from) {}

  std::string_view text;
};

/// Returns the length of the character at the start of `text`, or 0 if it must be escaped: a
/// control character (including U+0080 to U+009F) or a byte that is not valid UTF-8.
[[nodiscard]] constexpr std::size_t printable_length(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x20 || lead == 0x7F) return 0;
  const std::size_t length = utf8_length(text);
  const bool is_control = length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  return is_control ? 0 : length;
}

inline void write_escaped(char character, DumpWriter& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(character);
  if (character == '\n') {
    out << "\\n";
  } else if (character == '\t') {
    out << "\\t";
  } else if (character == '\r') {
    out << "\\r";
  } else {
    out << "\\x" << kDigits[code >> 4] << kDigits[code & 15];
  }
}

/// Writes the text. Escapes characters that are not printable as in C: \n, \x1b.
inline DumpWriter& operator<<(DumpWriter& out, PrintableText printable) {
  std::string_view text = printable.text;
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size()) {
      const std::size_t length = printable_length(text.substr(plain));
      if (length == 0) break;
      plain += length;
    }
    out << text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    write_escaped(text.front(), out);
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace alloctap
