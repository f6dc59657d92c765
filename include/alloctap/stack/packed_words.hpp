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

/// Up to `kMost` words. Where a program has frame pointers, a saved one lies beside a return
/// address, and two neighbours are compared at once. Zeros are no words. Belongs to one thread;
/// runs inside malloc.
template <std::size_t kMost>
class PackedWords {
 public:
  /// Takes the place of what there was: the words of `frames` frames. Pairs are looked for where
  /// there may be many. Precondition: not more than `kMost` words.
  ALLOCTAP_NOINLINE void pack(std::span<const StackWord> words, std::size_t frames) noexcept {
    pair_count_ = words.size() > frames + frames / 4 ? count_pairs(words) : 0;
    singles_begin_ = pair_count_ * 3 * std::uint32_t{kWord};
    singles_end_ = singles_begin_ + (static_cast<std::uint32_t>(words.size()) - 2 * pair_count_) *
                                        std::uint32_t{sizeof(StackWord)};
    if (pair_count_ > 0) return pack_pairs(words);
    if (!words.empty()) std::memcpy(room_.data(), words.data(), words.size_bytes());
  }

  /// Precondition: all of them lie in live stack.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool unchanged() const noexcept {
    const auto* begin = reinterpret_cast<const StackWord*>(room_.data() + singles_begin_);
    const auto* end = reinterpret_cast<const StackWord*>(room_.data() + singles_end_);
    return (singles_begin_ == 0 || pairs_unchanged()) && alloctap::unchanged(begin, end);
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uintptr_t);
  static constexpr std::size_t kAtOnce = 4;
  using TwoWords = std::uintptr_t ALLOCTAP_VECTOR_OF(2 * kWord);

  static std::uint32_t count_pairs(std::span<const StackWord> words) noexcept {
    std::uint32_t pairs = 0;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (step_at(words, i) == 1) continue;
      ++pairs;
      ++i;
    }
    return pairs;
  }

  void pack_pairs(std::span<const StackWord> words) noexcept {
    std::size_t pair = 0;
    std::size_t single = singles_begin_;
    for (std::size_t i = 0; i < words.size(); i += step_at(words, i)) {
      if (step_at(words, i) == 2) {
        keep_pair(pair++, words[i], words[i + 1]);
      } else {
        std::memcpy(room_.data() + single, &words[i], sizeof(StackWord));
        single += sizeof(StackWord);
      }
    }
  }

  /// How many words are taken together at `i`.
  static std::size_t step_at(std::span<const StackWord> words, std::size_t i) noexcept {
    if (i + 1 >= words.size()) return 1;
    const std::uintptr_t a = words[i].address;
    const std::uintptr_t b = words[i + 1].address;
    return a == b + kWord || b == a + kWord ? 2 : 1;
  }

  /// The room holds the values of all pairs, then the address of the lower word of each, then the
  /// other words.
  [[nodiscard]] std::size_t addresses_begin() const noexcept { return pair_count_ * 2 * kWord; }

  void keep_pair(std::size_t i, const StackWord& a, const StackWord& b) noexcept {
    const StackWord& lower = a.address < b.address ? a : b;
    const StackWord& upper = a.address < b.address ? b : a;
    const TwoWords values{lower.value, upper.value};
    std::memcpy(room_.data() + i * sizeof values, &values, sizeof values);
    std::memcpy(room_.data() + addresses_begin() + i * kWord, &lower.address, kWord);
  }

  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool pairs_unchanged() const noexcept {
    const auto* const values = reinterpret_cast<const TwoWords*>(room_.data());
    const auto* const addresses =
        reinterpret_cast<const std::uintptr_t*>(room_.data() + addresses_begin());
    std::size_t left = pair_count_;
    // From the end, which is the innermost and changes first.
    for (; left >= kAtOnce; left -= kAtOnce) {
      const std::uintptr_t* const at = addresses + left - kAtOnce;
      const TwoWords* const kept = values + left - kAtOnce;
      const TwoWords change = (load(at[0]) ^ kept[0]) | (load(at[1]) ^ kept[1]) |
                              (load(at[2]) ^ kept[2]) | (load(at[3]) ^ kept[3]);
      if ((change[0] | change[1]) != 0) return false;
    }
    TwoWords change{};
    for (; left > 0; --left) change |= load(addresses[left - 1]) ^ values[left - 1];
    return (change[0] | change[1]) == 0;
  }

  ALLOCTAP_NO_SANITIZE static TwoWords load(std::uintptr_t address) noexcept {
    TwoWords words{};
    std::memcpy(&words, reinterpret_cast<const void*>(address), sizeof words);
    return words;
  }

  alignas(2 * kWord) std::array<std::byte, kMost * sizeof(StackWord)> room_{};
  std::uint32_t pair_count_ = 0;
  /// In bytes, where those words are in the room that are in no pair.
  std::uint32_t singles_begin_ = 0;
  std::uint32_t singles_end_ = 0;
};

}  // namespace alloctap
