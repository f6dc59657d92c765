/// How shadow memory says what is known of a block.
#pragma once

#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// The word of the bytes in which a block begins: of 16, or of 32. A block that covers the bytes of
/// the next word owns that too, because no other can begin there; that word is its size. One that
/// is smaller has its size in its only word. Where a record fits neither way, its word says that it
/// is elsewhere. The two upper bits:
///
///     00  no block begins here; not 0: the size of the block that begins in the word below
///     01  odd, 29 bits of stack id; the next word is the size
///     10  odd, 6 bits of size, 23 bits of stack id
///     11  odd; it is elsewhere
///
/// "Odd" is one bit: whether the block begins in the upper half of 32 bytes.
class ShadowRecord {
 public:
  /// The two words of `record`; the second is 0 where it takes one alone.
  struct Words {
    std::uint32_t head = 0;
    std::uint32_t size = 0;
  };

  static constexpr std::uint32_t kElsewhere = std::uint32_t{3} << 30;
  static constexpr std::uint32_t kOdd = std::uint32_t{1} << 29;
  /// One of them is set in every word at which a block begins, and in no other.
  static constexpr std::uint32_t kBeginBits = std::uint32_t{3} << 30;

  /// The sizes that a word of its own can say.
  static constexpr std::uint64_t kMaxAlone = 63;

  /// Of a block that is not odd, alone in its word if it has up to `largest_alone` bytes, at most
  /// `kMaxAlone`. `kElsewhere` where it does not fit.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static constexpr Words encode(
      const BlockRecord& record, std::uint64_t largest_alone) noexcept {
    if (record.size > largest_alone) {
      const bool fits = record.size < kSizeEnd && record.stack < kStackEnd;
      if (!fits) [[unlikely]] {
        return {.head = kElsewhere};
      }
      return {.head = kSizeFollows | record.stack, .size = static_cast<std::uint32_t>(record.size)};
    }
    if (record.stack >= kSmallStackEnd) [[unlikely]] {
      return {.head = kElsewhere};
    }
    return {.head =
                kAlone | static_cast<std::uint32_t>(record.size) << kSmallSizeShift | record.stack};
  }

  /// The record that the two words say; of one that is not elsewhere.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static constexpr BlockRecord decode(
      const Words& words) noexcept {
    if (size_follows(words.head)) {
      return {.stack = words.head & (kStackEnd - 1), .size = words.size & (kSizeEnd - 1)};
    }
    return {.stack = words.head & (kSmallStackEnd - 1),
            .size = words.head >> kSmallSizeShift & kMaxAlone};
  }

  /// Whether a block begins at a word that says this.
  [[nodiscard]] static constexpr bool begins_block(std::uint32_t word) noexcept {
    return word >= kSizeFollows;
  }
  [[nodiscard]] static constexpr bool is_elsewhere(std::uint32_t word) noexcept {
    return word >= kElsewhere;
  }
  [[nodiscard]] static constexpr bool is_odd(std::uint32_t word) noexcept {
    return (word & kOdd) != 0;
  }
  [[nodiscard]] static constexpr bool size_follows(std::uint32_t word) noexcept {
    return word >> 30 == 1;
  }
  /// Whether it is the size of a block that begins at the word before.
  [[nodiscard]] static constexpr bool is_size(std::uint32_t word) noexcept {
    return word != 0 && word < kSizeFollows;
  }

 private:
  static constexpr std::uint32_t kSizeFollows = 1U << 30;
  static constexpr std::uint32_t kAlone = 1U << 31;
  static constexpr std::uint32_t kSizeEnd = 1U << 30;
  static constexpr std::uint32_t kStackEnd = kOdd;
  static constexpr std::uint32_t kSmallStackEnd = 1U << 23;
  static constexpr int kSmallSizeShift = 23;
};

}  // namespace alloctap
