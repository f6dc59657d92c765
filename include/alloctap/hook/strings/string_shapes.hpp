/// Models of the memory, string and number functions: the ranges that a call reads and writes.
///
/// A model has a function type, `Signature`, and `touch(look, arguments...)`, which reports each
/// range to a `StringAccessChecker`. `C` is a character type, or void for bytes. Models follow the
/// C standard and POSIX. If a function may stop early at an unspecified point (memcmp), the model
/// reports the whole range.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/hook/strings/string_access_checker.hpp"

namespace alloctap::string_shapes {

/// Size of a `C` in bytes.
template <class C>
inline constexpr std::size_t kUnit = sizeof(C);
template <>
inline constexpr std::size_t kUnit<void> = 1;

/// Models memcpy, mempcpy and wmemcpy.
template <class C>
struct CopiesRange {
  using Signature = C*(C*, const C*, std::size_t);
  static void touch(const auto& look, C* to, const C* from, std::size_t count) noexcept {
    look.copy(to, from, count * kUnit<C>);
  }
};

/// Models memmove and wmemmove.
template <class C>
struct MovesRange {
  using Signature = C*(C*, const C*, std::size_t);
  static void touch(const auto& look, C* to, const C* from, std::size_t count) noexcept {
    look.read(from, count * kUnit<C>);
    look.write(to, count * kUnit<C>);
  }
};

/// Models bcopy, whose first two arguments are swapped.
struct MovesBytesFrom {
  using Signature = void(const void*, void*, std::size_t);
  static void touch(const auto& look, const void* from, void* to, std::size_t bytes) noexcept {
    MovesRange<void>::touch(look, to, from, bytes);
  }
};

/// Models memccpy, which stops after the first byte equal to `last`.
struct CopiesUntil {
  using Signature = void*(void*, const void*, int, std::size_t);
  static void touch(const auto& look, void* to, const void* from, int last,
                    std::size_t bytes) noexcept {
    const auto* const text = static_cast<const unsigned char*>(from);
    const std::size_t limit = std::min(bytes, look.characters_at(text));
    const std::size_t at = find_byte(text, limit, last);
    const std::size_t seen = at < limit || limit == bytes ? std::min(at + 1, bytes) : limit + 1;
    look.copy(to, from, seen);
  }

 private:
  static std::size_t find_byte(const unsigned char* text, std::size_t length, int wanted) noexcept {
    std::size_t i = 0;
    for (; i < length && text[i] != static_cast<unsigned char>(wanted); ++i) stay_a_loop();
    return i;
  }
};

/// Models memset and wmemset. `Argument` is the type of the fill value.
template <class C, class Argument>
struct FillsRange {
  using Signature = C*(C*, Argument, std::size_t);
  static void touch(const auto& look, C* to, Argument, std::size_t count) noexcept {
    look.write(to, count * kUnit<C>);
  }
};

/// Models bzero and explicit_bzero.
struct ClearsBytes {
  using Signature = void(void*, std::size_t);
  static void touch(const auto& look, void* to, std::size_t bytes) noexcept {
    look.write(to, bytes);
  }
};

/// Models memcmp, bcmp and wmemcmp.
template <class C>
struct ComparesRanges {
  using Signature = int(const C*, const C*, std::size_t);
  static void touch(const auto& look, const C* a, const C* b, std::size_t count) noexcept {
    look.read(a, count * kUnit<C>);
    look.read(b, count * kUnit<C>);
  }
};

/// Models memchr and wmemchr, which stop at a match.
template <class C, class Argument, class Element>
struct FindsInRange {
  using Signature = C*(const C*, Argument, std::size_t);
  static void touch(const auto& look, const C* range, Argument wanted, std::size_t count) noexcept {
    const auto* const elements = static_cast<const Element*>(range);
    const std::size_t limit = std::min(count, look.characters_at(elements));
    for (std::size_t i = 0; i < limit; ++i) {
      if (elements[i] == static_cast<Element>(wanted)) return look.read(range, (i + 1) * kUnit<C>);
    }
    look.read(range, (limit < count ? limit + 1 : count) * kUnit<C>);
  }
};

/// Models memrchr, which searches from the end.
struct FindsLastInRange {
  using Signature = void*(const void*, int, std::size_t);
  static void touch(const auto& look, const void* range, int, std::size_t bytes) noexcept {
    look.read(range, bytes);
  }
};

/// Models memmem.
struct FindsRange {
  using Signature = void*(const void*, std::size_t, const void*, std::size_t);
  static void touch(const auto& look, const void* range, std::size_t bytes, const void* wanted,
                    std::size_t wanted_bytes) noexcept {
    look.read(wanted, wanted_bytes);
    look.read(range, bytes);
  }
};

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

/// Models strcasestr. The locale determines which letters are equal, so the model checks the
/// searched text only up to the first possible match.
template <class C>
struct MeasuresBoth {
  using Signature = C*(const C*, const C*);
  static void touch(const auto& look, const C* text, const C* wanted) noexcept {
    look.text(wanted);
    look.text_until(text, SIZE_MAX,
                    [&](C c) { return AsLowerCase{}(c) == AsLowerCase{}(*wanted); });
  }
};

/// Models strtol and its relatives. They read up to the first character after the number. The end
/// of the number is known only after the call, so `run` makes the call itself.
template <class C, class Result>
struct ParsesInteger {
  using Signature = Result(const C*, C**, int);
  static Result run(const auto* look, Signature* original, const C* text, C** end,
                    int base) noexcept {
    C* stop = const_cast<C*>(text);
    const Result result = original(text, &stop, base);
    if (look != nullptr) look->read(text, static_cast<std::size_t>(stop - text + 1) * sizeof(C));
    if (end != nullptr) *end = stop;
    return result;
  }
};

/// Models strtof, strtod and wcstod.
template <class C, class Result>
struct ParsesReal {
  using Signature = Result(const C*, C**);
  static Result run(const auto* look, Signature* original, const C* text, C** end) noexcept {
    C* stop = const_cast<C*>(text);
    const Result result = original(text, &stop);
    if (look != nullptr) look->read(text, static_cast<std::size_t>(stop - text + 1) * sizeof(C));
    if (end != nullptr) *end = stop;
    return result;
  }
};

/// Models atoi, atol and atoll.
template <class Result>
struct ReadsInteger {
  using Signature = Result(const char*);
  static void touch(const auto& look, const char* text) noexcept {
    look.text_until(text, SIZE_MAX, Ends{});
  }

 private:
  /// Predicate for the end of a number, which has white space, a sign and digits.
  struct Ends {
    bool began = false;
    bool operator()(char c) noexcept {
      const bool is_digit = c >= '0' && c <= '9';
      const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
      const bool goes_on = is_digit || (!began && (is_space || c == '+' || c == '-'));
      began = began || !is_space;
      return !goes_on;
    }
  };
};

}  // namespace alloctap::string_shapes
