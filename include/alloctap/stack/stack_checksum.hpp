/// Many words of a stack, kept for one question: do all of them hold what they held?
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// Where up to `kMaxWords` words lie, and digests of what they held: 3 bytes a word in place of
/// the 16 of a `StackWord`, because a thread has hundreds of these, and asks one of them at each
/// allocation. What it reads for that takes the place of what the program has in its caches.
///
/// A digest is of 64 bits, over 8 words: that some of them have changed by chance goes unseen in
/// one case of about 2^60, which is as sure as the hash that a stack is known by. Changes that hide
/// each other have to be made for it: one word by a few times 4 GiB, and its neighbour by as few
/// bytes. And products carry upwards alone, so words that differ in none but the highest bits,
/// which no address of a program has, could be taken for each other.
///
/// Zeros are the fingerprint of no words. Belongs to one thread; runs inside malloc.
template <std::size_t kMaxWords>
class StackChecksum {
 public:
  /// Takes the place of what there was. `words` are outermost first, none of them inside `sp`.
  /// False where they are too many, or further out than 512 KiB: then `matches` means nothing.
  [[nodiscard]] ALLOCTAP_NOINLINE bool take(std::span<const StackWord> words,
                                            std::uintptr_t sp) noexcept {
    count_ = 0;
    if (words.size() > kMaxWords) return false;
    std::uintptr_t furthest = 0;
    std::size_t left = words.size();
    for (; left >= kWordsAtOnce; left -= kWordsAtOnce) {
      furthest |= blocks_[count_++].take(words.data() + left - kWordsAtOnce, sp);
    }
    if (left > 0) {
      // Filled up with the outermost word.
      std::array<StackWord, kWordsAtOnce> rest;
      rest.fill(words[0]);
      std::copy_n(words.begin(), left, rest.end() - static_cast<std::ptrdiff_t>(left));
      furthest |= blocks_[count_++].take(rest.data(), sp);
    }
    return furthest <= kFurthest;
  }

  /// Whether `take` is worth trying: by one of the outermost words, for who would lose another
  /// fingerprint.
  [[nodiscard]] static bool reaches(const StackWord& word, std::uintptr_t sp) noexcept {
    return (word.address - sp) / kWord <= kFurthest;
  }

  /// Whether the words hold what they held, on the stack that `sp` is on as it was then.
  /// Precondition: all of them lie in live stack.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool matches(std::uintptr_t sp) const noexcept {
    const Block* const end = blocks_.data() + count_;
    // From the innermost on, which changes first.
    for (const Block* block = blocks_.data(); block != end; ++block) {
      if (block->digest_now(sp) != block->digest) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uintptr_t);
  static constexpr std::size_t kWordsAtOnce = 8;
  /// Odd, so that a product tells its other factor; the golden ratio's, so that all bits take part.
  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;

  static constexpr std::uintptr_t kFurthest = UINT16_MAX;

  struct Block {
    /// All bits of how far `words` are above the stack pointer, in words.
    std::uintptr_t take(const StackWord* words, std::uintptr_t sp) noexcept {
      std::uintptr_t bits = 0;
      for (std::size_t i = 0; i < kWordsAtOnce; ++i) {
        const std::uintptr_t away = (words[kWordsAtOnce - 1 - i].address - sp) / kWord;
        bits |= away;
        at[i] = static_cast<std::uint16_t>(away);
      }
      if (bits <= kFurthest) digest = digest_now(sp);
      return bits;
    }

    /// One product for two words, because products take longest; one word is turned, so that what
    /// tells addresses apart lies in other bits of it. In two halves, because each waits for the
    /// one before. Step by step: GCC would keep the loop, which takes twice the instructions.
    [[nodiscard]] ALLOCTAP_ALWAYS_INLINE std::uint64_t digest_now(
        std::uintptr_t sp) const noexcept {
      std::uint64_t inner = two(0, sp) * kFactor;
      std::uint64_t outer = two(4, sp) * kFactor;
      inner = (inner ^ two(2, sp)) * kFactor;
      outer = (outer ^ two(6, sp)) * kFactor;
      return inner + std::rotl(outer, 32);
    }

    [[nodiscard]] ALLOCTAP_ALWAYS_INLINE std::uint64_t two(std::size_t i,
                                                           std::uintptr_t sp) const noexcept {
      return std::rotl(load_word(sp + at[i] * kWord), 32) + load_word(sp + at[i + 1] * kWord);
    }
    static_assert(kWordsAtOnce == 8);

    std::uint64_t digest;
    /// In words above the stack pointer, leaf first.
    std::array<std::uint16_t, kWordsAtOnce> at;
  };

  std::uint32_t count_ = 0;
  std::array<Block, (kMaxWords + kWordsAtOnce - 1) / kWordsAtOnce> blocks_{};
};

}  // namespace alloctap
