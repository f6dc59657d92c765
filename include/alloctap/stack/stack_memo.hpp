/// Whole stacks that a thread came from again and again.
#pragma once

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
/// that its frames and its end were found by are the same. A stack is kept when it has come twice
/// in a row from one frame, so that a program whose stacks all differ pays a comparison and no
/// copies. Belongs to one thread; runs inside malloc.
class StackMemo {
 public:
  /// Stacks with more words are left to the chain.
  static constexpr std::size_t kMostWords = 160;

  /// The stack whose innermost frame is `leaf`, if it is known and the same as ever; else nullptr.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE RememberedStack* find(const UnwindFrame& leaf,
                                                             std::uint64_t serial) noexcept {
    if (entries_ == nullptr) return nullptr;
    Entry& entry = entries_[place_of(leaf)];
    Known& known = entry.known;
    const bool same = known.leaf.pc == leaf.pc && known.leaf.sp == leaf.sp &&
                      known.serial == serial &&
                      (known.leaf.fp == leaf.fp || !known.pointer_matters);
    if (!same) return nullptr;
    return entry.words.unchanged() ? &known : nullptr;
  }

  /// `leaf` was found to be the innermost frame of `chain`, a whole stack.
  void learn(const UnwindFrame& leaf, std::uint64_t serial, const VerifiedChain& chain) noexcept {
    if (chain.words().size() > kMostWords || !make_room()) return;
    const std::size_t innermost = chain.size() - 1;
    const StackHash hash = chain.hash(innermost);
    Entry& entry = entries_[place_of(leaf)];
    Known& known = entry.known;
    const bool again = known.serial == kNoWords && known.leaf.pc == leaf.pc &&
                       known.leaf.sp == leaf.sp && known.hash == hash;
    // Not as a whole, which would be made elsewhere and copied before it has reached the cache.
    known.leaf = leaf;
    known.hash = hash;
    known.serial = again ? serial : kNoWords;
    known.stack.depth = static_cast<std::uint32_t>(chain.size());
    known.stack.failed = chain.end() == ChainEnd::kFailed;
    known.pointer_matters = chain.pointer_matters(innermost);
    if (again) [[unlikely]] {
      entry.words.pack(chain.words(), chain.size());
    }
  }

 private:
  struct Known : RememberedStack {
    UnwindFrame leaf;
    /// Which stack it was, and by which rules: `StackChain::serial`; or `kNoWords`, which is none.
    std::uint64_t serial = 0;
    bool pointer_matters = false;
  };

  struct Entry {
    Known known;
    PackedWords<kMostWords> words;
  };

  /// The stack came once; it has to come again before its words are kept.
  static constexpr std::uint64_t kNoWords = UINT64_MAX;
  static constexpr std::size_t kBits = 7;
  static constexpr std::size_t kBytes = sizeof(Entry) << kBits;

  static std::size_t place_of(const UnwindFrame& leaf) noexcept {
    return ((leaf.pc ^ (leaf.sp << 16)) * 0x9E3779B97F4A7C15) >> (64 - kBits);
  }

  [[nodiscard]] bool make_room() noexcept { return entries_ != nullptr || allocate(); }

  /// Fresh pages are zeros, and those match no frame.
  ALLOCTAP_NOINLINE bool allocate() noexcept {
    static_assert(kBytes > Arena::kLargestBlock);
    entries_ = static_cast<Entry*>(Arena::allocate(kBytes));
    return entries_ != nullptr;
  }

  Entry* entries_ = nullptr;
};

}  // namespace alloctap
