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

/// Whether none of `[low, high)` has changed. Inlined: whoever asks has little else to do.
[[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool unchanged(const StackWord* low,
                                                    const StackWord* high) noexcept {
  const StackWord* word = high;
  const auto first_four_end = reinterpret_cast<std::uintptr_t>(low) + 4 * sizeof(StackWord);
  for (; reinterpret_cast<std::uintptr_t>(word) >= first_four_end; word -= 4) {
    if (change_of_four(word) != 0) return false;
  }
  std::uintptr_t change = 0;
  while (word != low) change |= change_of(*--word);
  return change == 0;
}

}  // namespace alloctap
