/// Escaping of text for XML.
#pragma once

#include <string>
#include <string_view>

#include "alloctap/dump/json_text.hpp"

namespace alloctap::testing {

/// Returns the entity for characters that are special in XML or changed by attribute normalization;
/// otherwise an empty string.
[[nodiscard]] constexpr std::string_view xml_entity(char character) noexcept {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\t':
      return "&#9;";
    case '\n':
      return "&#10;";
    case '\r':
      return "&#13;";
    default:
      return {};
  }
}

/// Escapes `text` for elements and double-quoted attributes. Replaces invalid UTF-8 and the two
/// code points that XML 1.0 forbids by U+FFFD; omits control characters.
[[nodiscard]] inline std::string xml_text(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string escaped;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view part = text.substr(0, length == 0 ? 1 : length);
    const std::string_view entity = xml_entity(part[0]);
    if (!entity.empty()) {
      escaped += entity;
    } else if (length == 0 || part == "\xEF\xBF\xBE" || part == "\xEF\xBF\xBF") {
      escaped += kReplacement;
    } else if (static_cast<unsigned char>(part[0]) >= ' ') {
      escaped += part;
    }
    text.remove_prefix(part.size());
  }
  return escaped;
}

}  // namespace alloctap::testing
