/// Finds the free lists of glibc's malloc in a module's data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_interval.hpp"

namespace alloctap {

/// Finds the bins of a malloc arena of glibc: 127 circular lists, whose heads are an array
/// (malloc/malloc.c, "struct malloc_state"). A chunk's header overlaps the last usable word of the
/// block before it. A list head therefore points into a live block, which would never count as
/// lost.
///
/// `words` lie at `address`. Returns the range of the array and the arena's members before it, or
/// an empty range. Recognizes the empty lists at its end, whose two words point to two words before
/// themselves. Reads nothing else.
[[nodiscard]] inline AddressRange find_allocator_lists(std::span<const std::uintptr_t> words,
                                                       std::uintptr_t address) noexcept {
  constexpr std::size_t kListWords = 2 * 127;
  constexpr std::size_t kWordsBefore = 14;
  constexpr std::size_t kFewestEmpty = 24;
  constexpr std::size_t kWord = sizeof(std::uintptr_t);
  const auto is_empty_list = [&](std::size_t at) {
    const std::uintptr_t head = address + (at - 2) * kWord;
    return words[at] == head && words[at + 1] == head;
  };
  std::size_t empty = 0;
  std::size_t last = 0;
  for (std::size_t at = 2; at + 1 < words.size();) {
    const bool found = is_empty_list(at);
    if (found && at - last > kListWords) empty = 0;
    if (found) {
      ++empty;
      last = at;
    }
    if (empty >= kFewestEmpty && at - last > kListWords / 2) break;
    at += found ? 2 : 1;
  }
  if (empty < kFewestEmpty) return {};
  const std::size_t end = last + 2;
  const std::size_t before = end > kListWords + kWordsBefore ? end - kListWords - kWordsBefore : 0;
  return {address + before * kWord, address + end * kWord};
}

}  // namespace alloctap
