/// Whole stacks that a thread came from again and again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/guard/arena.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/identified_stack.hpp"
#include "alloctap/stack/packed_words.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/unwind_frame.hpp"
#include "alloctap/stack/verified_chain.hpp"

namespace alloctap {

/// A table of stacks by their innermost frame: a loop that allocates in several places comes by
/// each of them with the same stack every time, while a chain remembers the last alone. A stack is
/// known by the same argument as a chain (`verified_chain.hpp`): its innermost frame and all words
/// that its frames and its end were found by are the same. Several stacks are kept for a frame:
/// often one function allocates for others by turns. A stack is kept when it comes again while few
/// others have come since, so that a program whose stacks all differ pays a few comparisons and no
/// copies, and the stacks that are known stay. Takes 66 KiB of the arena, and the words of each
/// stack that is kept: up to 4 KiB. Belongs to one thread; runs inside malloc.
class StackMemo {
 public:
  /// Stacks with more words are left to the chain.
  static constexpr std::size_t kMostWords = 256;
  /// How many stacks are kept for a frame, and for those that share its place.
  static constexpr std::size_t kStacks = 8;
  /// How many of those that were not known are remembered: one of them that comes again is kept.
  static constexpr std::size_t kNewcomers = 8;

  /// The stack whose innermost frame is `leaf`, if it is the one that was found last, and the same
  /// as ever; else nullptr. Short, for who asks each time.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE RememberedStack* find_latest(const UnwindFrame& leaf,
                                                                    std::uint64_t serial) noexcept {
    if (sets_ == nullptr) return nullptr;
    Set& set = sets_[place_of(leaf)];
    Entry* latest = &set.entries[set.latest];
    // Or else the compiler finds the way to it again at each use.
    ALLOCTAP_HIDE_VALUE(latest);
    return latest->is_of(leaf, serial) ? &latest->known : nullptr;
  }

  /// The same of the other stacks that are kept. From now on it is the one that was found last.
  [[nodiscard]] RememberedStack* find_other(const UnwindFrame& leaf,
                                            std::uint64_t serial) noexcept {
    if (sets_ == nullptr) return nullptr;
    Set& set = sets_[place_of(leaf)];
    const std::uint64_t mixed = mixed_of(leaf);
    for (std::size_t i = 0; i < kStacks; ++i) {
      if (set.leaves[i] != mixed || i == set.latest) continue;
      if (!set.entries[i].is_of(leaf, serial)) continue;
      set.latest = i;
      return &set.entries[i].known;
    }
    return nullptr;
  }

  /// `leaf` was found to be the innermost frame of `chain`, a whole stack.
  void learn(const UnwindFrame& leaf, std::uint64_t serial, const VerifiedChain& chain) noexcept {
    if (chain.words().size() > kMostWords || !make_room()) return;
    Set& set = sets_[place_of(leaf)];
    if (!set.has_come(chain.hash(chain.size() - 1).first)) return;
    const std::size_t place = set.next_entry++ % kStacks;
    set.entries[place].keep(leaf, serial, chain);
    set.leaves[place] = mixed_of(leaf);
    set.latest = place;
  }

 private:
  struct Known : RememberedStack {
    UnwindFrame leaf;
    /// Which stack it was, and by which rules: `StackChain::serial`.
    std::uint64_t serial = 0;
    bool pointer_matters = false;
  };

  struct Entry {
    [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool is_of(const UnwindFrame& leaf,
                                                    std::uint64_t serial) const noexcept {
      const bool same = known.leaf.pc == leaf.pc && known.leaf.sp == leaf.sp &&
                        known.serial == serial &&
                        (known.leaf.fp == leaf.fp || !known.pointer_matters);
      return same && words.unchanged();
    }

    /// From now on it is of that stack, or of none where there is no memory.
    ALLOCTAP_NOINLINE void keep(const UnwindFrame& leaf, std::uint64_t serial,
                                const VerifiedChain& chain) noexcept {
      const std::size_t innermost = chain.size() - 1;
      known = {};
      if (!words.pack(chain.words(), chain.size())) return;
      known.leaf = leaf;
      known.hash = chain.hash(innermost);
      known.serial = serial;
      known.stack.depth = static_cast<std::uint32_t>(chain.size());
      known.stack.failed = chain.end() == ChainEnd::kFailed;
      known.pointer_matters = chain.pointer_matters(innermost);
    }

    Known known;
    PackedWords words;
  };

  struct Set {
    /// Whether the stack with that half of a hash has come lately without being known; from now on
    /// it has. Nothing is read by it, so where it lay and under which rules it was found is no
    /// matter.
    [[nodiscard]] bool has_come(std::uint64_t hash) noexcept {
      for (const std::uint64_t newcomer : newcomers) {
        if (newcomer == hash) return true;
      }
      newcomers[next_newcomer++ % kNewcomers] = hash;
      return false;
    }

    /// `mixed_of` the leaf of each entry: most others need not be looked at.
    std::array<std::uint64_t, kStacks> leaves;
    std::array<std::uint64_t, kNewcomers> newcomers;
    /// Where the next of them goes, and the next stack that is kept.
    std::size_t next_newcomer = 0;
    std::size_t next_entry = 0;
    /// Which of the entries was found or kept last.
    std::size_t latest = 0;
    std::array<Entry, kStacks> entries;
  };

  static constexpr std::size_t kBits = 6;
  static constexpr std::size_t kBytes = sizeof(Set) << kBits;

  static std::size_t place_of(const UnwindFrame& leaf) noexcept {
    return mixed_of(leaf) >> (64 - kBits);
  }

  static std::uint64_t mixed_of(const UnwindFrame& leaf) noexcept {
    return (leaf.pc ^ (leaf.sp << 16)) * 0x9E3779B97F4A7C15;
  }

  [[nodiscard]] bool make_room() noexcept { return sets_ != nullptr || allocate(); }

  /// Fresh pages are zeros, and those match no frame.
  ALLOCTAP_NOINLINE bool allocate() noexcept {
    sets_ = static_cast<Set*>(Arena::allocate_pages(kBytes));
    return sets_ != nullptr;
  }

  Set* sets_ = nullptr;
};

}  // namespace alloctap
