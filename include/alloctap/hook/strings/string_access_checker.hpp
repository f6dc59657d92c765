/// Checks the memory that a call of a string function accesses, and handles such calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

// String scans that call no C library function, because C library functions may be hooked.

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

/// Checker for one call of `function` from `origin`. The models (`string_shapes.hpp`) report the
/// ranges that the call reads and writes. Never reads a text beyond its block. An unterminated text
/// counts as the rest of the block plus one character, which is out of bounds. Reads program memory
/// outside the `ReentrancyGuard`, because the read may fault as the call would.
template <AccessSink Sink>
class StringAccessChecker {
 public:
  StringAccessChecker(std::string_view function, const CallOrigin& origin) noexcept
      : function_(function), origin_(origin) {}

  void read(const void* from, std::size_t bytes) const noexcept { check(from, bytes, false); }
  void write(const void* to, std::size_t bytes) const noexcept { check(to, bytes, true); }

  /// Checks a copy between ranges that must not overlap.
  void copy(const void* to, const void* from, std::size_t bytes) const noexcept {
    read(from, bytes);
    write(to, bytes);
    if (to != from) keep_apart(to, bytes, from, bytes);
  }

  /// Reports a violation if the two ranges overlap.
  void keep_apart(const void* to, std::size_t written, const void* from,
                  std::size_t taken) const noexcept {
    const auto target = reinterpret_cast<std::uintptr_t>(to);
    const auto source = reinterpret_cast<std::uintptr_t>(from);
    if (written == 0 || taken == 0) return;
    const bool overlaps = target >= source ? target - source < taken : source - target < written;
    if (!overlaps) return;
    const ReentrancyGuard guard;
    Sink::note_overlap(access_of(target, written, true), source, origin_);
  }

  /// Returns the number of characters before the terminator, the end of the block, or `most`.
  template <class Character>
  static std::size_t length_of(const Character* text, std::size_t most = SIZE_MAX) noexcept {
    const std::size_t limit = std::min(characters_at(text), most);
    return scan_text(text, limit, [](Character) { return false; }).length;
  }

  /// Checks a text that is read up to its terminator, the first character for which `stops` returns
  /// true, or `most` characters.
  template <class Character, class Stops>
  void text_until(const Character* text, std::size_t most, Stops stops) const noexcept {
    const std::size_t room = characters_at(text);
    if (room == SIZE_MAX) return;
    const TextPart part = scan_text(text, std::min(room, most), stops);
    read(text, (part.length + (part.length < most ? 1 : 0)) * sizeof(Character));
  }

  /// Checks a text that is read up to its terminator or `most` characters.
  template <class Character>
  void text(const Character* text, std::size_t most = SIZE_MAX) const noexcept {
    text_until(text, most, [](Character) { return false; });
  }

  /// Returns the number of characters from `text` to the end of its block. Returns SIZE_MAX if
  /// `text` is in no checked block.
  template <class Character>
  static std::size_t characters_at(const Character* text) noexcept {
    const std::size_t room = room_at(text);
    return room == SIZE_MAX ? SIZE_MAX : room / sizeof(Character);
  }

 private:
  MemoryAccess access_of(std::uintptr_t address, std::size_t bytes, bool writes) const noexcept {
    return {.function = function_, .address = address, .bytes = bytes, .writes = writes};
  }

  ALLOCTAP_NOINLINE static std::size_t room_at(const void* pointer) noexcept {
    const ReentrancyGuard guard;
    return Sink::room_at(pointer);
  }

  ALLOCTAP_NOINLINE void check(const void* begin, std::size_t bytes, bool writes) const noexcept {
    const ReentrancyGuard guard;
    Sink::check_access(access_of(reinterpret_cast<std::uintptr_t>(begin), bytes, writes), origin_);
  }

  std::string_view function_;
  const CallOrigin& origin_;
};

/// Handler of all `StringFunctions`. Checks the memory that an outermost call will access, then
/// calls the original with unchanged arguments. errno keeps the value that the original sets. May
/// run inside malloc.
template <AccessSink Sink, class Originals>
struct StringCall {
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static auto call(const CallOrigin& origin, Arguments... arguments) {
    auto* const original = Originals::template get<Function>();
    const bool looks = is_programs() && Sink::checks_strings();
    const StringAccessChecker<Sink> look(Function::shown, origin);
    if constexpr (requires { Function::touch(look, arguments...); }) {
      if (looks) Function::touch(look, arguments...);
      return original(arguments...);
    } else if constexpr (requires { Function::run(&look, original, arguments...); }) {
      return Function::run(looks ? &look : nullptr, original, arguments...);
    } else {
      if (looks) Function::touch_before(look, arguments...);
      const auto result = original(arguments...);
      if (looks) Function::touch_after(look, result, arguments...);
      return result;
    }
  }

 private:
  static bool is_programs() noexcept {
    const ReentrancyGuard guard;
    if (guard.is_outermost()) return true;
    if (UseInternalArena::active()) [[unlikely]] {
      Originals::note_arrival();
    }
    return false;
  }
};

}  // namespace alloctap
