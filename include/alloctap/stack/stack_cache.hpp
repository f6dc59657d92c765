/// Whole stacks that a thread came from again and again.
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
#include "alloctap/stack/identified_stack.hpp"
#include "alloctap/stack/stack_capture.hpp"
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

/// A table of stacks by their innermost frame: a loop that allocates in several places comes by
/// each of them with the same stack every time, while a chain remembers the last alone. A stack is
/// known by the same argument as a chain (`cached_frame_chain.hpp`): its innermost frame and all
/// words that its frames and its end were found by are the same, as a fingerprint of them tells.
/// Several stacks are kept for a frame: often one function allocates for others by turns. A stack
/// is kept when it comes again while few others have come since, so that a program whose stacks all
/// differ pays a few comparisons and no copies, and the stacks that are known stay. Belongs to one
/// thread; runs inside malloc.
class StackCache {
 public:
  /// Stacks with more words, or with words 512 KiB apart, are left to the chain.
  static constexpr std::size_t kMaxWords = 160;
  /// How many stacks are kept for a frame, and for those that share its place.
  static constexpr std::size_t kStacks = 8;
  /// How many of those that were not known are remembered: one of them that comes again is kept.
  static constexpr std::size_t kNewcomers = 8;

  /// The stack whose innermost frame is `leaf`, if it is the one that is expected from there, and
  /// the same as ever; else nullptr. Short, for who asks each time.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE RememberedStack* find_expected(
      const UnwindFrame& leaf, std::uint64_t serial) noexcept {
    if (sets_ == nullptr) return nullptr;
    Set* const set = &sets_[place_of(mixed(leaf))];
    Entry* entry = set->entry_at(set->expected);
    // Or else the compiler finds the way to it again at each use.
    ALLOCTAP_HIDE_VALUE(entry);
    if (!entry->is_of(leaf, serial)) return nullptr;
    set->latest = set->expected;
    set->expected = entry->follower;
    return entry;
  }

  /// The same of the other stacks that are kept.
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

  /// `leaf` was found to be the innermost frame of `chain`, a whole stack.
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

    /// From now on it is of that stack, or of none where its words are too far apart.
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
    /// Which stack it was, and by which rules: `StackChain::serial`.
    std::uint64_t serial = 0;
    bool pointer_matters = false;
    /// `Set::line_of` of the entry that came after this one last, at first of itself: so a stack
    /// that comes again is expected, and so are stacks that come by turns.
    std::uint8_t follower = 0;
    Fingerprint words;
  };

  /// Eight bytes that are compared at once.
  class Tags {
   public:
    void set(std::uint8_t i, std::uint8_t tag) noexcept {
      bytes_ &= ~(std::uint64_t{0xFF} << (8 * i));
      bytes_ |= std::uint64_t{tag} << (8 * i);
    }

    /// The highest bit of each byte that is `tag`, and perhaps of some that are not: a borrow goes
    /// on from one that is.
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
    /// Whether the stack with that part of a hash has come lately without being known; from now on
    /// it has. Nothing is read by it, so where it lay and under which rules it was found is no
    /// matter.
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

    /// Where an entry begins, in cache lines behind the first one, and the entry that begins there:
    /// the way to it is a shift, where a number of an entry takes a product.
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

    /// Of the leaf of each entry: most others need not be looked at.
    Tags tags;
    Hashes newcomers;
    /// Where the next of them goes, and the next stack that is kept.
    std::uint32_t next_newcomer;
    std::uint32_t next_entry;
    /// `line_of` the entry that was found or kept last, and of its follower.
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

  /// Fresh pages are zeros, and those match no frame.
  ALLOCTAP_NOINLINE bool allocate() noexcept {
    static_assert(kBytes > Arena::kLargestBlock);
    sets_ = static_cast<Set*>(Arena::allocate(kBytes));
    return sets_ != nullptr;
  }

  Set* sets_ = nullptr;
};

}  // namespace alloctap
