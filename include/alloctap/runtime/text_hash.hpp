/// A hash of text.
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

}  // namespace alloctap
