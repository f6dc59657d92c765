/// Whether words of the stack are what they were.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// Not 0 where `word` has changed.
[[nodiscard]] inline std::uintptr_t change_of(const StackWord& word) noexcept {
  return load_word(word.address) ^ word.value;
}

/// Not 0 where one of the four words below `end` has changed. At once, because their loads do not
/// wait for each other.
[[nodiscard]] ALLOCTAP_ALWAYS_INLINE std::uintptr_t change_of_four(const StackWord* end) noexcept {
  const std::uintptr_t inner = change_of(end[-1]) | change_of(end[-2]);
  const std::uintptr_t outer = change_of(end[-3]) | change_of(end[-4]);
  return inner | outer;
}

/// The last of `[low, high)` that has changed, plus one; `low` where none has. From the end, which
/// is the innermost and changes first.
[[nodiscard]] inline const StackWord* last_changed(const StackWord* low,
                                                   const StackWord* high) noexcept {
  const StackWord* word = high;
  while (word - low >= 4 && change_of_four(word) == 0) word -= 4;
  while (word != low && change_of(word[-1]) == 0) --word;
  return word;
}

}  // namespace alloctap
