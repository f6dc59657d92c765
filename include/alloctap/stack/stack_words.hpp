/// Functions that check whether recorded stack words have changed.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// Returns 0 if `word` is unchanged.
[[nodiscard]] inline std::uintptr_t change_of(const StackWord& word) noexcept {
  return load_word(word.address) ^ word.value;
}

/// Returns 0 if the four words below `end` are unchanged. Unrolled, so that the loads are
/// independent.
[[nodiscard]] ALLOCTAP_ALWAYS_INLINE std::uintptr_t change_of_four(const StackWord* end) noexcept {
  const std::uintptr_t inner = change_of(end[-1]) | change_of(end[-2]);
  const std::uintptr_t outer = change_of(end[-3]) | change_of(end[-4]);
  return inner | outer;
}

/// Returns one past the last word of `[low, high)` that has changed, or `low` if all are unchanged.
/// Searches from the end, because the innermost words change first.
[[nodiscard]] inline const StackWord* last_changed(const StackWord* low,
                                                   const StackWord* high) noexcept {
  const StackWord* word = high;
  while (word - low >= 4 && change_of_four(word) == 0) word -= 4;
  while (word != low && change_of(word[-1]) == 0) --word;
  return word;
}

}  // namespace alloctap
