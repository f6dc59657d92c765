/// Basic types and constants of Rust's v0 mangling.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/symbol/bounded_text.hpp"

namespace alloctap::rust {

/// Returns the basic type for `tag`, or an empty string.
[[nodiscard]] constexpr std::string_view basic_type(char tag) noexcept {
  constexpr std::string_view kTypes[] = {"i8",   "bool",  "char",  "f64", "str", "f32", "",
                                         "u8",   "isize", "usize", "",    "i32", "u32", "i128",
                                         "u128", "_",     "",      "",    "i16", "u16", "()",
                                         "...",  "",      "i64",   "u64", "!"};
  return tag >= 'a' && tag <= 'z' ? kTypes[tag - 'a'] : std::string_view();
}

[[nodiscard]] constexpr bool is_signed_integer(char type) noexcept {
  return std::string_view("ailnsx").find(type) != std::string_view::npos;
}

[[nodiscard]] constexpr bool is_unsigned_integer(char type) noexcept {
  return std::string_view("hjmoty").find(type) != std::string_view::npos;
}

inline void append_decimal(std::uint64_t value, BoundedText& out) noexcept {
  char digits[20];
  const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append({digits, static_cast<std::size_t>(end - digits)});
}

/// Appends `character`. Escapes it as in a Rust literal delimited by `quote`.
inline void append_escaped(char32_t character, char quote, BoundedText& out) noexcept {
  constexpr std::string_view kControls("\t\r\n\0", 4);
  constexpr std::string_view kLetters = "trn0";
  const auto byte = static_cast<char>(character < 0x20 ? character : ' ');
  const std::size_t control = kControls.find(byte);
  const bool is_special = character == U'\\' || character == static_cast<unsigned char>(quote);
  if (is_special || control != kControls.npos) out.append("\\");
  if (control != kControls.npos) return out.append(kLetters.substr(control, 1));
  out.append_character(character);
}

/// Appends a string constant from hexadecimal bytes. Returns false if the number of digits is odd.
inline bool append_text_constant(std::string_view digits, BoundedText& out) noexcept {
  if (digits.size() % 2 != 0) return false;
  out.append("\"");
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    const char raw = static_cast<char>(byte);
    if (byte < 0x80) append_escaped(byte, '"', out);
    if (byte >= 0x80) out.append({&raw, 1});
  }
  out.append("\"");
  return true;
}

/// Appends a constant of basic type `type` with hexadecimal `digits`. Returns false if the digits
/// are invalid. Prints integers of more than 64 bits in hexadecimal.
inline bool append_constant(char type, std::string_view digits, BoundedText& out) noexcept {
  if (type == 'e') return append_text_constant(digits, out);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  static_cast<void>(end);
  const bool fits = error == std::errc() || digits.empty();
  if (is_signed_integer(type) || is_unsigned_integer(type)) {
    if (!fits) out.append("0x");
    if (fits) append_decimal(value, out);
    if (!fits) out.append(digits);
    return true;
  }
  if (type == 'b' && fits && value <= 1) {
    out.append(value == 1 ? "true" : "false");
    return true;
  }
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (type != 'c' || !fits || value > 0x10FFFF || is_surrogate) return false;
  out.append("'");
  append_escaped(static_cast<char32_t>(value), '\'', out);
  out.append("'");
  return true;
}

}  // namespace alloctap::rust
