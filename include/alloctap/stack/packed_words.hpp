/// Many words of a stack, kept for one question: are all of them what they were?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/stack_words.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// Two words side by side in memory: a saved frame pointer and the return address above it, where
/// a program has frame pointers. Compared at once.
struct StackWordPair {
  /// Of the lower one.
  std::uintptr_t address = 0;
  std::array<std::uintptr_t, 2> values{};
};

/// Up to `kMost` words. Neighbours become pairs, which lie in front; the others lie behind. Zeros
/// are no words. Belongs to one thread; runs inside malloc.
template <std::size_t kMost>
class PackedWords {
 public:
  /// Takes the place of what there was. Precondition: not more than `kMost`.
  void pack(std::span<const StackWord> words) noexcept {
    pair_count_ = single_count_ = 0;
    for (std::size_t i = 0; i < words.size();) {
      const bool has_neighbour = i + 1 < words.size() && beside(words[i], words[i + 1]);
      if (has_neighbour) {
        add_pair(words[i], words[i + 1]);
      } else {
        add_single(words[i]);
      }
      i += has_neighbour ? 2 : 1;
    }
  }

  /// Precondition: all of them lie in live stack.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool unchanged() const noexcept {
    return pairs_unchanged() && alloctap::unchanged(singles(), singles() + single_count_);
  }

 private:
  static constexpr std::uintptr_t kWord = sizeof(std::uintptr_t);
  using TwoWords = std::uintptr_t __attribute__((vector_size(2 * sizeof(std::uintptr_t))));

  static bool beside(const StackWord& a, const StackWord& b) noexcept {
    return a.address == b.address + kWord || b.address == a.address + kWord;
  }

  void add_pair(const StackWord& a, const StackWord& b) noexcept {
    const bool a_is_lower = a.address < b.address;
    const StackWord& lower = a_is_lower ? a : b;
    const StackWord& upper = a_is_lower ? b : a;
    const StackWordPair pair{.address = lower.address, .values = {lower.value, upper.value}};
    std::memcpy(room_.data() + pair_count_++ * sizeof pair, &pair, sizeof pair);
  }

  void add_single(const StackWord& word) noexcept {
    ++single_count_;
    std::memcpy(room_.data() + room_.size() - single_count_ * sizeof word, &word, sizeof word);
  }

  [[nodiscard]] const StackWordPair* pairs() const noexcept {
    return reinterpret_cast<const StackWordPair*>(room_.data());
  }
  [[nodiscard]] const StackWord* singles() const noexcept {
    return reinterpret_cast<const StackWord*>(room_.data() + room_.size()) - single_count_;
  }

  /// Not 0 in either half where a word has changed.
  ALLOCTAP_NO_SANITIZE static TwoWords change_of(const StackWordPair& pair) noexcept {
    TwoWords now{};
    TwoWords kept{};
    std::memcpy(&now, reinterpret_cast<const void*>(pair.address), sizeof now);
    std::memcpy(&kept, pair.values.data(), sizeof kept);
    return now ^ kept;
  }

  /// Four at a time from the end, as `last_changed`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool pairs_unchanged() const noexcept {
    const StackWordPair* const low = pairs();
    const StackWordPair* pair = low + pair_count_;
    for (; pair - low >= 4; pair -= 4) {
      const TwoWords change =
          change_of(pair[-1]) | change_of(pair[-2]) | change_of(pair[-3]) | change_of(pair[-4]);
      if ((change[0] | change[1]) != 0) return false;
    }
    TwoWords change{};
    while (pair != low) change |= change_of(*--pair);
    return (change[0] | change[1]) == 0;
  }

  std::uint32_t pair_count_ = 0;
  std::uint32_t single_count_ = 0;
  alignas(StackWordPair) std::array<std::byte, kMost * sizeof(StackWord)> room_{};
};

}  // namespace alloctap
