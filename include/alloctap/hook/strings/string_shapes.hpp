/// What functions of strings and of memory read and write, by their shapes.
///
/// A shape has the function's type, `Signature`, and `touch(look, arguments...)`, which tells a
/// `StringAccessChecker` of each range. `C` is a type of characters, or void for bytes. What is
/// said of each is what the C standard and POSIX let the function do; where it may stop early and
/// the standard does not say where (memcmp), all that it was given counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "alloctap/hook/strings/text_scan.hpp"

namespace alloctap::string_shapes {

/// Bytes of a `C`.
template <class C>
inline constexpr std::size_t kUnit = sizeof(C);
template <>
inline constexpr std::size_t kUnit<void> = 1;

/// memcpy.
template <class C>
struct CopiesRange {
  using Signature = C*(C*, const C*, std::size_t);
  static void touch(const auto& look, C* to, const C* from, std::size_t count) noexcept {
    look.copy(to, from, count * kUnit<C>);
  }
};

/// memmove.
template <class C>
struct MovesRange {
  using Signature = C*(C*, const C*, std::size_t);
  static void touch(const auto& look, C* to, const C* from, std::size_t count) noexcept {
    look.read(from, count * kUnit<C>);
    look.write(to, count * kUnit<C>);
  }
};

/// bcopy, whose arguments are the other way round.
struct MovesBytesFrom {
  using Signature = void(const void*, void*, std::size_t);
  static void touch(const auto& look, const void* from, void* to, std::size_t bytes) noexcept {
    MovesRange<void>::touch(look, to, from, bytes);
  }
};

/// memccpy: to the first byte that is `last`.
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

/// memset, for `C` and what stands for it in arguments.
template <class C, class Argument>
struct FillsRange {
  using Signature = C*(C*, Argument, std::size_t);
  static void touch(const auto& look, C* to, Argument, std::size_t count) noexcept {
    look.write(to, count * kUnit<C>);
  }
};

/// bzero.
struct ClearsBytes {
  using Signature = void(void*, std::size_t);
  static void touch(const auto& look, void* to, std::size_t bytes) noexcept {
    look.write(to, bytes);
  }
};

/// memcmp.
template <class C>
struct ComparesRanges {
  using Signature = int(const C*, const C*, std::size_t);
  static void touch(const auto& look, const C* a, const C* b, std::size_t count) noexcept {
    look.read(a, count * kUnit<C>);
    look.read(b, count * kUnit<C>);
  }
};

/// memchr: as far as to what it looks for.
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

/// memrchr: from the end on.
struct FindsLastInRange {
  using Signature = void*(const void*, int, std::size_t);
  static void touch(const auto& look, const void* range, int, std::size_t bytes) noexcept {
    look.read(range, bytes);
  }
};

/// memmem.
struct FindsRange {
  using Signature = void*(const void*, std::size_t, const void*, std::size_t);
  static void touch(const auto& look, const void* range, std::size_t bytes, const void* wanted,
                    std::size_t wanted_bytes) noexcept {
    look.read(wanted, wanted_bytes);
    look.read(range, bytes);
  }
};

}  // namespace alloctap::string_shapes
