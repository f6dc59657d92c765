/// Console output in UTF-16, because a console decodes bytes by its code page, rarely UTF-8.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/utf8.hpp"

namespace alloctap::os {

inline bool is_console(HANDLE handle) noexcept {
  DWORD mode = 0;
  return ::GetConsoleMode(handle, &mode) != 0;
}

/// Returns the length of the longest prefix of `text` that has at most `most` bytes and ends
/// between UTF-8 characters.
constexpr std::size_t whole_characters(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text.size();
  const auto goes_on = [&](std::size_t place) {
    return (static_cast<unsigned char>(text[place]) & 0xC0U) == 0x80U;
  };
  std::size_t length = most;
  while (length > 0 && goes_on(length)) --length;
  return length > 0 ? length : most;
}

inline bool write_to_console(HANDLE console, std::string_view text) noexcept {
  std::array<wchar_t, 512> buffer;
  while (!text.empty()) {
    const std::size_t bytes = whole_characters(text, buffer.size());
    std::wstring_view wide = to_utf16(text.substr(0, bytes), buffer, BadText::kReplaced);
    while (!wide.empty()) {
      DWORD written = 0;
      const auto units = static_cast<DWORD>(wide.size());
      if (::WriteConsoleW(console, wide.data(), units, &written, nullptr) == 0) return false;
      wide.remove_prefix(written);
    }
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace alloctap::os
