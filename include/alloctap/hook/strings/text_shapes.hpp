/// Models of the string functions (`string_shapes.hpp`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/hook/strings/text_scan.hpp"

namespace alloctap::string_shapes {

struct AsIs {
  template <class C>
  C operator()(C c) const noexcept {
    return c;
  }
};

/// Maps ASCII letters to lower case.
struct AsLowerCase {
  template <class C>
  C operator()(C c) const noexcept {
    return c >= C{'A'} && c <= C{'Z'} ? static_cast<C>(c + ('a' - 'A')) : c;
  }
};

/// Models strlen and wcslen.
template <class C>
struct MeasuresText {
  using Signature = std::size_t(const C*);
  static void touch(const auto& look, const C* text) noexcept { look.text(text); }
};

/// Models strnlen and wcsnlen.
template <class C>
struct MeasuresTextUpTo {
  using Signature = std::size_t(const C*, std::size_t);
  static void touch(const auto& look, const C* text, std::size_t most) noexcept {
    look.text(text, most);
  }
};

/// Models strcpy, stpcpy, wcscpy and wcpcpy.
template <class C>
struct CopiesText {
  using Signature = C*(C*, const C*);
  static void touch(const auto& look, C* to, const C* from) noexcept {
    const std::size_t bytes = (look.length_of(from) + 1) * sizeof(C);
    look.read(from, bytes);
    look.write(to, bytes);
    look.keep_apart(to, bytes, from, bytes);
  }
};

/// Models strncpy, stpncpy, wcsncpy and wcpncpy.
template <class C>
struct CopiesTextUpTo {
  using Signature = C*(C*, const C*, std::size_t);
  static void touch(const auto& look, C* to, const C* from, std::size_t count) noexcept {
    const std::size_t taken = std::min(look.length_of(from, count) + 1, count) * sizeof(C);
    look.read(from, taken);
    look.write(to, count * sizeof(C));
    look.keep_apart(to, count * sizeof(C), from, taken);
  }
};

/// Models strncat and wcsncat. The source must not overlap the text already in the destination.
template <class C>
struct AppendsTextUpTo {
  using Signature = C*(C*, const C*, std::size_t);
  static void touch(const auto& look, C* to, const C* from, std::size_t most) noexcept {
    const std::size_t before = look.length_of(to);
    const std::size_t length = look.length_of(from, most);
    const std::size_t taken = (length + (length < most ? 1 : 0)) * sizeof(C);
    const std::size_t written = (before + length + 1) * sizeof(C);
    look.read(from, taken);
    look.write(to, written);
    look.keep_apart(to, written, from, taken);
  }
};

/// Models strcat and wcscat.
template <class C>
struct AppendsText {
  using Signature = C*(C*, const C*);
  static void touch(const auto& look, C* to, const C* from) noexcept {
    AppendsTextUpTo<C>::touch(look, to, from, SIZE_MAX);
  }
};

/// Models strncmp and its relatives, which stop at the first difference under `Fold`. Locales other
/// than "C" may fold more characters; the model then checks less than the call reads.
template <class C, class Fold>
struct ComparesTextsUpTo {
  using Signature = int(const C*, const C*, std::size_t);
  static void touch(const auto& look, const C* a, const C* b, std::size_t most) noexcept {
    const std::size_t room = std::min(look.characters_at(a), look.characters_at(b));
    if (room == SIZE_MAX) return;
    const std::size_t limit = std::min(most, room);
    const TextPart part = scan_equal(a, b, limit, Fold{});
    const bool goes_on = part.ended || limit < most;
    const std::size_t bytes = (part.length + (goes_on ? 1 : 0)) * sizeof(C);
    look.read(a, bytes);
    look.read(b, bytes);
  }
};

/// Models strcmp and its relatives.
template <class C, class Fold>
struct ComparesTexts {
  using Signature = int(const C*, const C*);
  static void touch(const auto& look, const C* a, const C* b) noexcept {
    ComparesTextsUpTo<C, Fold>::touch(look, a, b, SIZE_MAX);
  }
};

/// Models strchr and its relatives, which stop at a match.
template <class C, class Argument>
struct FindsCharacter {
  using Signature = C*(const C*, Argument);
  static void touch(const auto& look, const C* text, Argument wanted) noexcept {
    look.text_until(text, SIZE_MAX, [&](C c) { return c == static_cast<C>(wanted); });
  }
};

/// Models strrchr and its relatives.
template <class C, class Argument>
struct FindsLastCharacter {
  using Signature = C*(const C*, Argument);
  static void touch(const auto& look, const C* text, Argument) noexcept { look.text(text); }
};

/// Models strpbrk and strcspn, which stop at a character of `set`; their result types differ.
template <class C, class Result>
struct FindsOneOf {
  using Signature = Result(const C*, const C*);
  static void touch(const auto& look, const C* text, const C* set) noexcept {
    look.text(set);
    const std::size_t length = look.length_of(set);
    look.text_until(text, SIZE_MAX, [&](C c) { return is_one_of(c, set, length); });
  }
};

/// Models strspn, which stops at a character outside `set`.
template <class C>
struct SpansText {
  using Signature = std::size_t(const C*, const C*);
  static void touch(const auto& look, const C* text, const C* set) noexcept {
    look.text(set);
    const std::size_t length = look.length_of(set);
    look.text_until(text, SIZE_MAX, [&](C c) { return !is_one_of(c, set, length); });
  }
};

/// Models strstr, which stops after a match.
template <class C>
struct FindsText {
  using Signature = C*(const C*, const C*);
  static void touch(const auto& look, const C* text, const C* wanted) noexcept {
    look.text(wanted);
    const std::size_t room = look.characters_at(text);
    if (room == SIZE_MAX) return;
    const TextPart part = scan_text(text, room, [](C) { return false; });
    if (part.ended) return look.read(text, sizeof(C));
    const std::size_t wanted_length = look.length_of(wanted);
    const std::size_t at = find_text(text, room, wanted, wanted_length);
    look.read(text, (at < room ? at + wanted_length : room + 1) * sizeof(C));
  }
};

/// Models strcasestr. The locale determines which letters are equal, so the model checks the texts
/// only up to the first possible match.
template <class C>
struct MeasuresBoth {
  using Signature = C*(const C*, const C*);
  static void touch(const auto& look, const C* text, const C* wanted) noexcept {
    look.text(wanted);
    look.text_until(text, SIZE_MAX,
                    [&](C c) { return AsLowerCase{}(c) == AsLowerCase{}(*wanted); });
  }
};

}  // namespace alloctap::string_shapes
