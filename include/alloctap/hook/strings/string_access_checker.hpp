/// What the arguments of functions of strings and of memory reach.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/memory_access.hpp"
#include "alloctap/hook/strings/text_scan.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// One call of `function`, from `origin`; the functions of `string_shapes.hpp` say which ranges it
/// reads and writes. Texts are never read beyond the block that they are in: one without an end is
/// as long as its block, and one character more, which is the first bad one. What the program's own
/// memory is read by runs outside the `ReentrancyGuard`: it may fault, as the call itself would.
template <AccessSink Sink>
class StringAccessChecker {
 public:
  StringAccessChecker(std::string_view function, const CallOrigin& origin) noexcept
      : function_(function), origin_(origin) {}

  void read(const void* from, std::size_t bytes) const noexcept { check(from, bytes, false); }
  void write(const void* to, std::size_t bytes) const noexcept { check(to, bytes, true); }

  /// A copy that a function makes of ranges that must not overlap.
  void copy(const void* to, const void* from, std::size_t bytes) const noexcept {
    read(from, bytes);
    write(to, bytes);
    if (to != from) keep_apart(to, bytes, from, bytes);
  }

  /// Notes where the two have bytes in common.
  void keep_apart(const void* to, std::size_t written, const void* from,
                  std::size_t taken) const noexcept {
    const auto target = reinterpret_cast<std::uintptr_t>(to);
    const auto source = reinterpret_cast<std::uintptr_t>(from);
    if (written == 0 || taken == 0) return;
    if (target >= source + taken || source >= target + written) return;
    const ReentrancyGuard guard;
    Sink::note_overlap(access_of(target, written, true), source, origin_);
  }

  /// How many characters `text` has before its end, the end of its block, or `most` of them.
  template <class Character>
  static std::size_t length_of(const Character* text, std::size_t most = SIZE_MAX) noexcept {
    const std::size_t limit = std::min(characters_at(text), most);
    return scan_text(text, limit, [](Character) { return false; }).length;
  }

  /// A text that is read to its end, to a character that `stops`, or for `most` characters.
  template <class Character, class Stops>
  void text_until(const Character* text, std::size_t most, Stops stops) const noexcept {
    const std::size_t room = characters_at(text);
    if (room == SIZE_MAX) return;
    const TextPart part = scan_text(text, std::min(room, most), stops);
    read(text, (part.length + (part.length < most ? 1 : 0)) * sizeof(Character));
  }

  /// A text that is read to its end, or for `most` characters.
  template <class Character>
  void text(const Character* text, std::size_t most = SIZE_MAX) const noexcept {
    text_until(text, most, [](Character) { return false; });
  }

  /// How many characters there are from `text` to the end of its block; `SIZE_MAX` where no block
  /// is known.
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

}  // namespace alloctap
