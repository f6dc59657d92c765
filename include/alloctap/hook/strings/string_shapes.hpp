/// Models of the memory functions, which state the ranges that a call reads and writes.
///
/// A model has a function type, `Signature`, and `touch(look, arguments...)`, which reports each
/// range to a `StringAccessChecker`. `C` is a character type, or void for bytes. Models follow the
/// C standard and POSIX. If a function may stop early at an unspecified point (memcmp), the model
/// reports the whole range.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "alloctap/hook/strings/text_scan.hpp"

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

}  // namespace alloctap::string_shapes
