/// UTF-8 validation and repair for strings in JSON.
#pragma once

#include <cstddef>
#include <string_view>

namespace alloctap {

/// Returns the length of the well-formed UTF-8 sequence at the start of `text`, or 0 if malformed
/// (Unicode 15, table 3-7). Precondition: `text` is not empty.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

/// Copies `text` to `[out, out + room)`. Replaces each byte that is not valid UTF-8 by U+FFFD,
/// because JSON is UTF-8, but paths on Linux may be any bytes. Stops before a character that does
/// not fit. Returns the number of bytes written. `room >= 3 * text.size()` always suffices.
[[nodiscard]] constexpr std::size_t copy_as_utf8(std::string_view text, char* out,
                                                 std::size_t room) noexcept {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::size_t written = 0;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view part = length == 0 ? kReplacement : text.substr(0, length);
    if (room - written < part.size()) break;
    for (const char character : part) out[written++] = character;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return written;
}

}  // namespace alloctap
