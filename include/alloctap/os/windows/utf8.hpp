/// Conversions between UTF-8 (alloctap) and UTF-16 (Windows), without allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Stores `text` as UTF-8 in `buffer` and returns it. Too long text is cut between characters.
inline std::string_view to_utf8(std::wstring_view text, std::span<char> buffer) noexcept {
  const int room = static_cast<int>(buffer.size());
  while (!text.empty()) {
    const int bytes = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), static_cast<int>(text.size()),
                                            buffer.data(), room, nullptr, nullptr);
    if (bytes > 0) return {buffer.data(), static_cast<std::size_t>(bytes)};
    // Each UTF-16 unit takes at most three bytes of UTF-8.
    const auto too_long = text.size() - std::min(text.size(), buffer.size() / 3);
    text.remove_suffix(std::max<std::size_t>(too_long / 2, 1));
  }
  return {buffer.data(), 0};
}

enum class BadText : bool { kReplaced, kRefused };

/// Stores `text` as UTF-16 in `buffer` and returns it. Returns "" if it does not fit, or if `text`
/// is invalid UTF-8 and `bad` is kRefused.
inline std::wstring_view to_utf16(std::string_view text, std::span<wchar_t> buffer,
                                  BadText bad = BadText::kRefused) noexcept {
  if (text.empty()) return {};
  const DWORD flags = bad == BadText::kRefused ? MB_ERR_INVALID_CHARS : 0;
  const int units =
      ::MultiByteToWideChar(CP_UTF8, flags, text.data(), static_cast<int>(text.size()),
                            buffer.data(), static_cast<int>(buffer.size()));
  return {buffer.data(), static_cast<std::size_t>(units)};
}

}  // namespace alloctap::os
