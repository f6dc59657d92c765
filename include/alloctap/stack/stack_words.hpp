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

/// The last of `[low, high)` that has changed, plus one; `low` where none has. From the end, which
/// is the innermost and changes first.
[[nodiscard]] inline const StackWord* last_changed(const StackWord* low,
                                                   const StackWord* high) noexcept {
  const StackWord* word = high;
  // Four at a time, because their loads do not wait for each other.
  for (; word - low >= 4; word -= 4) {
    const std::uintptr_t inner = change_of(word[-1]) | change_of(word[-2]);
    const std::uintptr_t outer = change_of(word[-3]) | change_of(word[-4]);
    if ((inner | outer) != 0) break;
  }
  while (word != low && change_of(word[-1]) == 0) --word;
  return word;
}

/// Whether none of `[low, high)` has changed. Inlined: whoever asks has little else to do.
[[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool unchanged(const StackWord* low,
                                                    const StackWord* high) noexcept {
  const StackWord* word = high;
  const auto first_four_end = reinterpret_cast<std::uintptr_t>(low) + 4 * sizeof(StackWord);
  for (; reinterpret_cast<std::uintptr_t>(word) >= first_four_end; word -= 4) {
    const std::uintptr_t inner = change_of(word[-1]) | change_of(word[-2]);
    const std::uintptr_t outer = change_of(word[-3]) | change_of(word[-4]);
    if ((inner | outer) != 0) return false;
  }
  std::uintptr_t change = 0;
  while (word != low) change |= change_of(*--word);
  return change == 0;
}

}  // namespace alloctap
