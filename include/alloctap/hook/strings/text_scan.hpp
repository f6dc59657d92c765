/// Reads texts without a call of the C library, whose functions may be the ones that are hooked.
#pragma once

#include <cstddef>

#include "alloctap/macros.hpp"

namespace alloctap {

/// The begin of a text: so many characters, and whether what ends it follows.
struct TextPart {
  std::size_t length = 0;
  bool ended = false;
};

/// Keeps a compiler from making a call of a loop that does what a function of the C library does.
ALLOCTAP_ALWAYS_INLINE void stay_a_loop() noexcept { ALLOCTAP_ASM volatile(""); }

/// Goes through `text` until its end, a character that `stops`, or `most` characters.
template <class Character, class Stops>
[[nodiscard]] TextPart scan_text(const Character* text, std::size_t most, Stops stops) noexcept {
  for (std::size_t i = 0; i < most; ++i) {
    stay_a_loop();
    if (text[i] == Character{} || stops(text[i])) return {i, true};
  }
  return {most, false};
}

/// Whether `c` is one of the characters of `set`.
template <class Character>
[[nodiscard]] bool is_one_of(Character c, const Character* set, std::size_t length) noexcept {
  for (std::size_t i = 0; i < length; ++i) {
    stay_a_loop();
    if (set[i] == c) return true;
  }
  return false;
}

/// How many characters of `a` and `b` are equal before the first difference, the end of both, or
/// `most` of them. `Fold` makes characters alike that count as equal.
template <class Character, class Fold>
[[nodiscard]] TextPart scan_equal(const Character* a, const Character* b, std::size_t most,
                                  Fold fold) noexcept {
  for (std::size_t i = 0; i < most; ++i) {
    stay_a_loop();
    if (a[i] == Character{} || fold(a[i]) != fold(b[i])) return {i, true};
  }
  return {most, false};
}

/// Where the first `needle` begins in the first `length` characters; `length` where it does not.
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
