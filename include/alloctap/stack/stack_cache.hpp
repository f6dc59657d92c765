/// A per-thread cache of whole stacks that recur, validated by checksums of stack words.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/cached_frame_chain.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// A checksum over up to `kMaxWords` stack words, with their offsets. Takes about 3 bytes per word
/// instead of the 16 of a `StackWord`. Size matters, because a thread has hundreds of checksums and
/// validates one per allocation, which displaces the program's data from the processor's caches.
///
/// Every 8 words have a 64-bit digest. An accidental change is missed with a probability of about
/// 2^-60, similar to a collision of stack hashes. Two changes cancel out only if crafted: one word
/// changes by k times 4 GiB and its neighbour by k bytes, for a small k. Multiplication carries
/// upwards only, so a change of the highest bits alone may be missed, but addresses of a program do
/// not use the highest bits.
///
/// An all-zero object has no words. Not thread-safe. Runs inside malloc.
template <std::size_t kMaxWords>
class StackChecksum {
 public:
  /// Computes the checksum. `words` are outermost first, all at or above `sp`. Returns false if
  /// there are more than `kMaxWords`, or if a word is more than 512 KiB above `sp`. Results of
  /// `matches` are then meaningless.
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
      // Pad with the outermost word.
      std::array<StackWord, kWordsAtOnce> rest;
      rest.fill(words[0]);
      std::copy_n(words.begin(), left, rest.end() - static_cast<std::ptrdiff_t>(left));
      furthest |= blocks_[count_++].take(rest.data(), sp);
    }
    return furthest <= kFurthest;
  }

  /// Returns whether `word`, the outermost one, is near enough to `sp` for `take`. Check this
  /// first, because a failed `take` overwrites the old checksum.
  [[nodiscard]] static bool reaches(const StackWord& word, std::uintptr_t sp) noexcept {
    return (word.address - sp) / kWord <= kFurthest;
  }

  /// Returns whether all words have the values that `take` read. `sp` is the one passed to `take`.
  /// Precondition: all words lie in live stack.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool matches(std::uintptr_t sp) const noexcept {
    const Block* const end = blocks_.data() + count_;
    // The innermost block first, because its words change first.
    for (const Block* block = blocks_.data(); block != end; ++block) {
      if (block->digest_now(sp) != block->digest) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uintptr_t);
  static constexpr std::size_t kWordsAtOnce = 8;
  /// An odd factor, so that multiplication is invertible; from the golden ratio, so that the
  /// product mixes all bits.
  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;

  static constexpr std::uintptr_t kFurthest = UINT16_MAX;

  struct Block {
    /// Stores the offsets and the digest. Returns the bitwise or of the offsets, in words.
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

    /// Hashes the current words. One multiplication per two words, because multiplications dominate
    /// the time. One word of each pair is rotated, so that the significant bits of addresses do not
    /// overlap. Two independent halves shorten the dependency chain. Unrolled by hand, because
    /// GCC's loop takes twice the instructions.
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
    /// Offsets in words above the stack pointer, leaf first.
    std::array<std::uint16_t, kWordsAtOnce> at;
  };

  std::uint32_t count_ = 0;
  std::array<Block, (kMaxWords + kWordsAtOnce - 1) / kWordsAtOnce> blocks_{};
};

/// A cache of recurring stacks, keyed by their innermost frame. Needed because a `CachedFrameChain`
/// has only the last stack, but a loop that allocates at several sites alternates among stacks. A
/// stack is valid if its innermost frame and the checksum of all its words match (see
/// `cached_frame_chain.hpp`). Several entries may have one innermost frame, because a function
/// often allocates for several callers by turns. A stack enters the cache only if it recurs among
/// the last `kNewcomers` uncached stacks of its set. So stacks that never recur cost a few
/// comparisons but no copies, and evict no cached stack. Belongs to one thread; runs inside malloc.
class StackCache {
 public:
  /// Stacks whose validation needs more words, or words more than 512 KiB apart, are not cached.
  static constexpr std::size_t kMaxWords = 160;
  /// Entries per set. All innermost frames with one hash share a set.
  static constexpr std::size_t kStacks = 8;
  /// Number of uncached stacks remembered per set. A remembered stack that recurs enters the cache.
  static constexpr std::size_t kNewcomers = 8;

  /// Returns the predicted stack if its innermost frame is `leaf` and its words are unchanged;
  /// otherwise nullptr. Inlined into every allocation.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE RememberedStack* find_expected(
      const UnwindFrame& leaf, std::uint64_t serial) noexcept {
    if (sets_ == nullptr) return nullptr;
    Set* const set = &sets_[place_of(mixed(leaf))];
    Entry* entry = set->entry_at(set->expected);
    // Prevents GCC from recomputing the address at each use.
    ALLOCTAP_HIDE_VALUE(entry);
    if (!entry->is_of(leaf, serial)) return nullptr;
    set->latest = set->expected;
    set->expected = entry->follower;
    return entry;
  }

  /// Searches the entries that were not predicted for a valid stack with the innermost frame
  /// `leaf`. Returns nullptr if not found.
  [[nodiscard]] RememberedStack* find_other(const UnwindFrame& leaf,
                                            std::uint64_t serial) noexcept {
    if (sets_ == nullptr) return nullptr;
    const std::uint64_t bits = mixed(leaf);
    Set& set = sets_[place_of(bits)];
    for (std::uint64_t left = set.tags.bytes_that_are(tag_of(bits)); left != 0; left &= left - 1) {
      const auto i = static_cast<std::uint8_t>(std::countr_zero(left) / 8);
      Entry& entry = set.entries[i];
      if (set.line_of(entry) == set.expected || !entry.is_of(leaf, serial)) continue;
      set.note_found(entry);
      return &entry;
    }
    return nullptr;
  }

  /// Offers the stack of `chain`, whose innermost frame is `leaf`, for admission.
  void learn(const UnwindFrame& leaf, std::uint64_t serial,
             const CachedFrameChain& chain) noexcept {
    const std::span<const StackWord> words = chain.words();
    if (words.size() > kMaxWords || !make_room()) return;
    const std::uint64_t bits = mixed(leaf);
    Set& set = sets_[place_of(bits)];
    if (!set.has_come(static_cast<std::uint16_t>(chain.hash(chain.size() - 1).first))) return;
    if (!words.empty() && !Fingerprint::reaches(words.front(), leaf.sp)) return;
    const auto i = static_cast<std::uint8_t>(set.next_entry++ % kStacks);
    Entry& entry = set.entries[i];
    set.tags.set(i, tag_of(bits));
    entry.keep(leaf, serial, chain);
    entry.follower = set.line_of(entry);
    set.note_found(entry);
  }

 private:
  using Fingerprint = StackChecksum<kMaxWords>;

  static constexpr std::size_t kCacheLine = 64;

  struct alignas(kCacheLine) Entry : RememberedStack {
    [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool is_of(const UnwindFrame& frame,
                                                    std::uint64_t number) const noexcept {
      const bool same = leaf.pc == frame.pc && leaf.sp == frame.sp && serial == number &&
                        (leaf.fp == frame.fp || !pointer_matters);
      return same && words.matches(frame.sp);
    }

    /// Stores the stack of `chain` in this entry. Empties the entry if the words are too far apart.
    ALLOCTAP_NOINLINE void keep(const UnwindFrame& frame, std::uint64_t number,
                                const CachedFrameChain& chain) noexcept {
      const std::size_t innermost = chain.size() - 1;
      leaf = {};
      if (!words.take(chain.words(), frame.sp)) return;
      leaf = frame;
      serial = number;
      pointer_matters = chain.pointer_matters(innermost);
      hash = chain.hash(innermost);
      stack = {.depth = static_cast<std::uint32_t>(chain.size()),
               .failed = chain.end() == ChainEnd::kFailed,
               .by_records = chain.is_by_records(innermost)};
    }

    UnwindFrame leaf;
    /// The `StackChain::serial`, which identifies the memory range and the unwind rules.
    std::uint64_t serial = 0;
    bool pointer_matters = false;
    /// `Set::line_of` of the entry that is predicted to be found next. Initially this entry, later
    /// the entry that was last found after this entry. Predicts repeated and alternating stacks.
    std::uint8_t follower = 0;
    Fingerprint words;
  };

  /// Eight one-byte tags, all compared at once by 64-bit operations (SWAR).
  class Tags {
   public:
    void set(std::uint8_t i, std::uint8_t tag) noexcept {
      bytes_ &= ~(std::uint64_t{0xFF} << (8 * i));
      bytes_ |= std::uint64_t{tag} << (8 * i);
    }

    /// Returns a mask with the high bit of each byte that equals `tag`. May have false positives,
    /// because a borrow propagates from a match.
    [[nodiscard]] std::uint64_t bytes_that_are(std::uint8_t tag) const noexcept {
      constexpr std::uint64_t kOnes = 0x0101010101010101;
      const std::uint64_t differences = bytes_ ^ (kOnes * tag);
      return (differences - kOnes) & ~differences & (kOnes << 7);
    }

   private:
    static_assert(kStacks == sizeof(std::uint64_t));
    std::uint64_t bytes_;
  };

  using Hashes = std::uint16_t ALLOCTAP_VECTOR_OF(kNewcomers * sizeof(std::uint16_t));
  using TwoWords = std::uint64_t ALLOCTAP_VECTOR_OF(sizeof(Hashes));

  struct Set {
    /// Returns whether a stack with the hash bits `hash` was offered recently; if not, remembers
    /// `hash`. A collision is harmless, because it only admits a stack early.
    [[nodiscard]] bool has_come(std::uint16_t hash) noexcept {
      const auto same = reinterpret_cast<TwoWords>(newcomers == hash);
      if ((same[0] | same[1]) != 0) return true;
      newcomers[next_newcomer++ % kNewcomers] = hash;
      return false;
    }

    void note_found(Entry& entry) noexcept {
      entry_at(latest)->follower = line_of(entry);
      latest = line_of(entry);
      expected = entry.follower;
    }

    /// Convert between an entry and its offset in cache lines. Offsets are faster than indexes: a
    /// shift instead of a multiplication.
    [[nodiscard]] std::uint8_t line_of(const Entry& entry) const noexcept {
      const auto number = static_cast<std::size_t>(&entry - entries.data());
      return static_cast<std::uint8_t>(number * kLinesOfEntry);
    }
    [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Entry* entry_at(std::uint8_t line) noexcept {
      auto* const bytes = reinterpret_cast<std::byte*>(entries.data());
      return reinterpret_cast<Entry*>(bytes + line * kCacheLine);
    }
    static constexpr std::size_t kLinesOfEntry = sizeof(Entry) / kCacheLine;
    static_assert(kStacks * kLinesOfEntry <= UINT8_MAX);

    /// Hash bits of each entry's innermost frame, to skip most entries that differ.
    Tags tags;
    Hashes newcomers;
    /// The next slots of `newcomers` and `entries` to replace, round robin.
    std::uint32_t next_newcomer;
    std::uint32_t next_entry;
    /// `line_of` of the entry found or added last, and `line_of` of the entry predicted next.
    std::uint8_t latest;
    std::uint8_t expected;
    std::array<Entry, kStacks> entries;
  };

  static constexpr std::size_t kBits = 6;
  static constexpr std::size_t kBytes = sizeof(Set) << kBits;

  static std::uint64_t mixed(const UnwindFrame& leaf) noexcept {
    return (leaf.pc ^ (leaf.sp << 16)) * 0x9E3779B97F4A7C15;
  }
  static std::size_t place_of(std::uint64_t mixed) noexcept { return mixed >> (64 - kBits); }
  static std::uint8_t tag_of(std::uint64_t mixed) noexcept {
    return static_cast<std::uint8_t>(mixed >> (64 - kBits - 8));
  }

  [[nodiscard]] bool make_room() noexcept { return sets_ != nullptr || allocate(); }

  /// Allocates zeroed pages. A zeroed entry matches no frame.
  ALLOCTAP_NOINLINE bool allocate() noexcept {
    static_assert(kBytes > Arena::kLargestBlock);
    sets_ = static_cast<Set*>(Arena::allocate(kBytes));
    return sets_ != nullptr;
  }

  Set* sets_ = nullptr;
};

}  // namespace alloctap
