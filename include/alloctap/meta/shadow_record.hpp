/// How shadow memory says what is known of a block.
#pragma once

#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// The word of the address at which a block begins. A block of more than 16 bytes owns the next
/// word too, because no other can begin there; that word is its size. One of up to 16 bytes has its
/// size in its only word. Where a record fits neither way, its word says that it is elsewhere. The
/// two upper bits:
///
///     00  no block begins here; not 0: the size of the block that begins 16 bytes below
///     01  30 bits of stack id; the next word is the size
///     1.  5 bits of size (at most 16), 26 bits of stack id; with a size of 31 it is elsewhere
class ShadowRecord {
 public:
  /// The two words of `record`; the second is 0 where it takes one alone.
  struct Words {
    std::uint32_t head = 0;
    std::uint32_t size = 0;
  };

  static constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;
  /// One of them is set in every word at which a block begins, and in no other.
  static constexpr std::uint32_t kBeginBits = std::uint32_t{3} << 30;

  /// `kElsewhere` where it does not fit.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static constexpr Words encode(
      const BlockRecord& record) noexcept {
    if (record.size > kLargestSmall) {
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
            .size = words.head >> kSmallSizeShift & kSmallSizeMask};
  }

  /// Whether a block begins at a word that says this.
  [[nodiscard]] static constexpr bool begins_block(std::uint32_t word) noexcept {
    return word >= kSizeFollows;
  }
  [[nodiscard]] static constexpr bool size_follows(std::uint32_t word) noexcept {
    return word >> 30 == 1;
  }
  /// Whether it is the size of a block that begins at the word before.
  [[nodiscard]] static constexpr bool is_size(std::uint32_t word) noexcept {
    return word != 0 && word < kSizeFollows;
  }

 private:
  static constexpr std::uint64_t kLargestSmall = 16;
  static constexpr std::uint32_t kSizeFollows = 1U << 30;
  static constexpr std::uint32_t kAlone = 1U << 31;
  static constexpr std::uint32_t kSizeEnd = 1U << 30;
  static constexpr std::uint32_t kStackEnd = 1U << 30;
  static constexpr std::uint32_t kSmallStackEnd = 1U << 26;
  static constexpr int kSmallSizeShift = 26;
  static constexpr std::uint32_t kSmallSizeMask = 31;
};

}  // namespace alloctap
