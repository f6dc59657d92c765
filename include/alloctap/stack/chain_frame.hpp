/// The frames of a chain, and a way along them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// A frame as a `CachedFrameChain` keeps it.
struct ChainFrame {
  UnwindFrame frame;
  /// Where its words end in the list of all; they begin where those of the frame outside end.
  std::uint32_t words_end;
  bool pointer_matters;
  /// Whether this frame, or one outside of it, was found by a frame record.
  bool by_records;
};

/// How far out in a chain a walk has come; at the end, whose stack pointer is higher than all, it
/// stays. Valid until the chain changes.
class ChainPlace {
 public:
  explicit ChainPlace(const ChainFrame* frame) noexcept : frame_(frame) {}

  [[nodiscard]] const ChainFrame* frame() const noexcept { return frame_; }

  /// Leaves behind what is inside `sp`. The first frame without a branch: mostly there is none or
  /// one, and which is anybody's guess.
  ALLOCTAP_ALWAYS_INLINE void go_out_to(std::uintptr_t sp) noexcept {
    std::ptrdiff_t passed = frame_->frame.sp < sp ? 1 : 0;
    ALLOCTAP_HIDE_VALUE(passed);
    frame_ -= passed;
    while (frame_->frame.sp < sp) [[unlikely]] {
      --frame_;
    }
  }

  /// Whether the frame here is `frame` in all that matters; the end is none.
  [[nodiscard]] bool is(const UnwindFrame& frame) const noexcept {
    const UnwindFrame& kept = frame_->frame;
    return kept.pc == frame.pc && kept.sp == frame.sp &&
           (kept.fp == frame.fp || !frame_->pointer_matters);
  }

 private:
  const ChainFrame* frame_;
};

}  // namespace alloctap
