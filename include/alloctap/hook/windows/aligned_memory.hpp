/// Aligned memory inside larger heap blocks (Windows).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/memory_map.hpp"

namespace alloctap {

/// Allocator that stores the heap block's address XOR `kMask` in the word before the memory.
class WindowsAlignedMemory {
 public:
  /// Allocates by `allocate(bytes)`, the heap's function, whose blocks are 16-aligned. Returns
  /// nullptr if `allocate` does. Requires that `bytes + alignment` does not overflow and that
  /// `alignment` is a power of two.
  template <class Allocate>
  static void* allocate(std::size_t bytes, std::size_t alignment, Allocate&& allocate) {
    const std::size_t step = std::max(alignment, kGranule);
    const auto block = reinterpret_cast<std::uintptr_t>(allocate(bytes + step + kGranule));
    if (block == 0) return nullptr;
    const std::uintptr_t begin = (block + kGranule + step - 1) / step * step;
    word_before(begin) = block ^ kMask;
    return reinterpret_cast<void*>(begin);
  }

  /// Returns the heap block around `memory`, a result of `allocate`.
  static void* block_of(void* memory) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    return reinterpret_cast<void*>(word_before(begin) ^ kMask);
  }

  /// Returns the word before `block`, or 0 if it is unreadable. In an aligned block of the C
  /// library, that word holds the address of the heap block around the aligned block.
  static std::uintptr_t librarys_word(const void* block) noexcept {
    constexpr std::uintptr_t kWord = sizeof(std::uintptr_t);
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block) / kWord * kWord;
    std::uintptr_t word = 0;
    if (begin < kWord) return 0;
    const auto bytes = std::as_writable_bytes(std::span(&word, 1));
    return os::copy_memory(begin - kWord, bytes) == kWord ? word : 0;
  }

 private:
  static constexpr std::size_t kGranule = 16;
  /// Distinguishes this class's word from the C library's.
  static constexpr std::uintptr_t kMask = 0xA5A5'5A5A'A5A5'5A5A;

  static std::uintptr_t& word_before(std::uintptr_t begin) noexcept {
    return reinterpret_cast<std::uintptr_t*>(begin)[-1];
  }
};

}  // namespace alloctap
