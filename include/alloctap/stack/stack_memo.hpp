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
/// that its frames and its end were found by are the same. Two stacks are kept for a frame: often
/// one function allocates for two others by turns. A stack is kept when it has come twice in a row
/// from one frame, so that a program whose stacks all differ pays a comparison and no copies, and
/// the stacks that are known stay. Belongs to one thread; runs inside malloc.
class StackMemo {
 public:
  /// Stacks with more words are left to the chain.
  static constexpr std::size_t kMostWords = 160;

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

  /// The same of the other stack that is kept. From now on it is the one that was found last.
  [[nodiscard]] RememberedStack* find_other(const UnwindFrame& leaf,
                                            std::uint64_t serial) noexcept {
    if (sets_ == nullptr) return nullptr;
    Set& set = sets_[place_of(leaf)];
    const std::size_t other = 1 - set.latest;
    Entry& entry = set.entries[other];
    if (!entry.is_of(leaf, serial)) return nullptr;
    set.latest = other;
    return &entry.known;
  }

  /// `leaf` was found to be the innermost frame of `chain`, a whole stack.
  void learn(const UnwindFrame& leaf, std::uint64_t serial, const VerifiedChain& chain) noexcept {
    if (chain.words().size() > kMostWords || !make_room()) return;
    const StackHash hash = chain.hash(chain.size() - 1);
    Set& set = sets_[place_of(leaf)];
    if (set.newcomer != hash) {
      set.newcomer = hash;
      return;
    }
    set.latest = 1 - set.latest;
    set.entries[set.latest].keep(leaf, serial, chain);
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

    ALLOCTAP_NOINLINE void keep(const UnwindFrame& leaf, std::uint64_t serial,
                                const VerifiedChain& chain) noexcept {
      const std::size_t innermost = chain.size() - 1;
      known = {};
      known.leaf = leaf;
      known.hash = chain.hash(innermost);
      known.serial = serial;
      known.stack.depth = static_cast<std::uint32_t>(chain.size());
      known.stack.failed = chain.end() == ChainEnd::kFailed;
      known.pointer_matters = chain.pointer_matters(innermost);
      words.pack(chain.words(), chain.size());
    }

    Known known;
    PackedWords<kMostWords> words;
  };

  struct Set {
    /// The stack that came last of those that were not known. Nothing is read by it, so where it
    /// lay and under which rules it was found is no matter.
    StackHash newcomer;
    /// Which of the two was found or kept last: the other one gives way to the next stack.
    std::size_t latest = 0;
    std::array<Entry, 2> entries;
  };

  static constexpr std::size_t kBits = 6;
  static constexpr std::size_t kBytes = sizeof(Set) << kBits;

  static std::size_t place_of(const UnwindFrame& leaf) noexcept {
    return ((leaf.pc ^ (leaf.sp << 16)) * 0x9E3779B97F4A7C15) >> (64 - kBits);
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
