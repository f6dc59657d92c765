/// What one thread has given back, by the stack that had allocated it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Beside `StackTotals`, the other half of what is live by stack: the sum of all threads'
/// allocations less that of all threads' frees. So that is known without visiting each block.
///
/// An array by StackId in pieces that are made when they are needed: ids are given in the order of
/// first use, so the stacks of a program's phase stand side by side.
///
/// Used by its thread alone, inside malloc; `for_each` by others too, behind the closed gate. Not
/// movable, never destroyed.
class FreedTotals {
 public:
  struct Entry {
    /// Wrap around below zero where more was put back than taken.
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
  };

  FreedTotals() noexcept = default;
  FreedTotals(const FreedTotals&) = delete;
  FreedTotals& operator=(const FreedTotals&) = delete;

  /// Counts a block of `bytes`.
  ALLOCTAP_ALWAYS_INLINE void count(StackId stack, std::uint64_t bytes) noexcept {
    add(stack, 1, bytes);
  }

  /// Undoes `count`, maybe that of another thread.
  void uncount(StackId stack, std::uint64_t bytes) noexcept {
    add(stack, ~std::uint64_t{0}, ~bytes + 1);
  }

  /// False: the system had no memory for something that was to be counted.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Calls `visit(StackId, const Entry&)` for each stack of which something was counted.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i] == nullptr) continue;
      for (std::size_t j = 0; j < kPiece; ++j) {
        const Entry& entry = (*pieces_[i])[j];
        if (entry.blocks != 0 || entry.bytes != 0) {
          visit(static_cast<StackId>(i * kPiece + j), entry);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kPiece = 256;
  using Piece = std::array<Entry, kPiece>;

  ALLOCTAP_ALWAYS_INLINE void add(StackId stack, std::uint64_t blocks,
                                  std::uint64_t bytes) noexcept {
    Entry* entry = entry_of(stack);
    if (entry == nullptr) [[unlikely]] {
      complete_ = false;
      return;
    }
    entry->blocks += blocks;
    entry->bytes += bytes;
  }

  ALLOCTAP_ALWAYS_INLINE Entry* entry_of(StackId stack) noexcept {
    const std::size_t piece = stack / kPiece;
    if (piece >= pieces_.size() || pieces_[piece] == nullptr) [[unlikely]] {
      return make_entry(stack);
    }
    return &(*pieces_[piece])[stack % kPiece];
  }

  Entry* make_entry(StackId stack) noexcept;

  /// By StackId / kPiece; nullptr where there is none yet.
  ArenaArray<Piece*> pieces_;
  bool complete_ = true;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/freed_totals.hpp"
#endif
