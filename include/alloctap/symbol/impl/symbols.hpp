/// Definitions for symbol/symbols.hpp.
#pragma once

#include <array>

#include "alloctap/macros.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

ALLOCTAP_INLINE void Symbols::add(std::size_t place, const SourceFrame& frame) noexcept {
  if (place >= ranges_.size()) return;
  Range& range = ranges_[place];
  if (range.count == 0) range.first = static_cast<std::uint32_t>(frames_.size());
  const bool kept = frames_.push_back(
      {.function = keep(frame.function), .file = keep(frame.file), .line = frame.line});
  if (kept) ++range.count;
}

ALLOCTAP_INLINE std::string_view Symbols::keep(std::string_view text) noexcept {
  if (text.size() <= kLongestText) return texts_.keep(text);
  constexpr std::string_view kDots = "...";
  std::size_t length = kLongestText - kDots.size();
  // Truncates at a UTF-8 character boundary.
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  std::array<char, kLongestText> cut;
  text.copy(cut.data(), length);
  kDots.copy(cut.data() + length, kDots.size());
  return texts_.keep({cut.data(), length + kDots.size()});
}

}  // namespace alloctap
