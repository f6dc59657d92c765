/// String scans that call no C library function, because C library functions may be hooked.
#pragma once

#include <cstddef>

#include "alloctap/macros.hpp"

namespace alloctap {

/// Scanned start of a text: its length, and whether a terminator or stop character follows.
struct TextPart {
  std::size_t length = 0;
  bool ended = false;
};

/// Keeps the compiler from replacing the surrounding loop by a call of memcpy or strlen.
ALLOCTAP_ALWAYS_INLINE void stay_a_loop() noexcept { ALLOCTAP_ASM volatile(""); }

/// Scans up to the terminator, a character for which `stops` returns true, or `most` characters.
template <class Character, class Stops>
[[nodiscard]] TextPart scan_text(const Character* text, std::size_t most, Stops stops) noexcept {
  for (std::size_t i = 0; i < most; ++i) {
    stay_a_loop();
    if (text[i] == Character{} || stops(text[i])) return {i, true};
  }
  return {most, false};
}

template <class Character>
[[nodiscard]] bool is_one_of(Character c, const Character* set, std::size_t length) noexcept {
  for (std::size_t i = 0; i < length; ++i) {
    stay_a_loop();
    if (set[i] == c) return true;
  }
  return false;
}

/// Counts equal characters before the first difference, the common terminator, or `most`. `Fold`
/// maps characters that count as equal to one value.
template <class Character, class Fold>
[[nodiscard]] TextPart scan_equal(const Character* a, const Character* b, std::size_t most,
                                  Fold fold) noexcept {
  for (std::size_t i = 0; i < most; ++i) {
    stay_a_loop();
    if (a[i] == Character{} || fold(a[i]) != fold(b[i])) return {i, true};
  }
  return {most, false};
}

/// Returns the index of the first match of `needle` in the first `length` characters, or `length`.
template <class Character>
[[nodiscard]] std::size_t find_text(const Character* text, std::size_t length,
                                    const Character* needle, std::size_t needle_length) noexcept {
  for (std::size_t i = 0; i + needle_length <= length; ++i) {
    std::size_t same = 0;
    while (same < needle_length && text[i + same] == needle[same]) ++same;
    if (same == needle_length) return i;
  }
  return length;
}

}  // namespace alloctap
