/// Finds the lists of free memory that an allocator keeps among a module's data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_interval.hpp"

namespace alloctap {

/// glibc keeps the free chunks of its first arena in 127 circular lists, whose heads lie in an
/// array in its data; the header that a chunk begins with overlaps the last word that the block
/// before it may use (malloc/malloc.c, "struct malloc_state"). So whatever list a chunk is in, the
/// head points into a block of the program's, which would never be lost.
///
/// `words` lie at `address`. What is found is the array with what the arena keeps before it, empty
/// where there is none: at its end empty lists stand, whose two words point to two words before
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
