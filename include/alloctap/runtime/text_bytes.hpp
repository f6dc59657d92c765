/// Functions of a text's bytes: a hash, and truncation between UTF-8 characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace alloctap {

/// Returns the 64-bit FNV-1a hash (RFC 9923), with its high bits XORed into the low ones.
[[nodiscard]] constexpr std::size_t hash_text(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char character : text) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3;
  }
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

/// Returns the longest prefix of `text` that has at most `max_bytes` bytes and ends between UTF-8
/// characters. Cuts invalid UTF-8 at exactly `max_bytes`. May be used inside malloc.
[[nodiscard]] constexpr std::string_view cut_text(std::string_view text,
                                                  std::size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) return text;
  constexpr std::size_t kMaxContinuationBytes = 3;
  for (std::size_t back = 0; back <= kMaxContinuationBytes && back < max_bytes; ++back) {
    const std::size_t end = max_bytes - back;
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) return text.substr(0, end);
  }
  return text.substr(0, max_bytes);
}

}  // namespace alloctap
