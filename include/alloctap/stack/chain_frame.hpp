/// The entry type of a cached frame chain, and a cursor over the chain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// A frame as `CachedFrameChain` stores it.
struct ChainFrame {
  UnwindFrame frame;
  /// The end of the frame's words in the chain's word list; they begin at the next outer frame's
  /// end.
  std::uint32_t words_end;
  bool pointer_matters;
  /// Whether this frame, or one outside it, was found by a frame record.
  bool by_records;
};

/// A cursor that a walk moves outwards through a chain. Stops at the end sentinel, whose stack
/// pointer is above all others. Valid until the chain changes.
class ChainPlace {
 public:
  explicit ChainPlace(const ChainFrame* frame) noexcept : frame_(frame) {}

  [[nodiscard]] const ChainFrame* frame() const noexcept { return frame_; }

  /// Skips frames inside `sp`. Branch-free for the first, because zero or one to skip is
  /// unpredictable.
  ALLOCTAP_ALWAYS_INLINE void go_out_to(std::uintptr_t sp) noexcept {
    std::ptrdiff_t passed = frame_->frame.sp < sp ? 1 : 0;
    ALLOCTAP_HIDE_VALUE(passed);
    frame_ -= passed;
    while (frame_->frame.sp < sp) [[unlikely]] {
      --frame_;
    }
  }

  /// Returns whether this frame matches `frame`, ignoring an fp that does not matter. The end never
  /// matches.
  [[nodiscard]] bool is(const UnwindFrame& frame) const noexcept {
    const UnwindFrame& kept = frame_->frame;
    return kept.pc == frame.pc && kept.sp == frame.sp &&
           (kept.fp == frame.fp || !frame_->pointer_matters);
  }

 private:
  const ChainFrame* frame_;
};

}  // namespace alloctap
