/// A capture by rules, as short as the last one allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_frame.hpp"
#include "alloctap/stack/unwind_step.hpp"
#include "alloctap/stack/verified_chain.hpp"
#include "alloctap/stack/walked_frames.hpp"

namespace alloctap {

/// Brings a chain up to date with the stack of the calling thread. `Rules::find(frame)` gives the
/// rule of a frame. Runs inside malloc.
template <class Rules>
class ChainWalk {
 public:
  /// `stack` is the one that the chain belongs to. `chain` has room for twice, and `walked` for as
  /// many frames as are wanted and one more. Refers to all of them.
  ChainWalk(VerifiedChain& chain, WalkedFrames& walked, const os::StackBounds& stack,
            std::size_t most_frames, const Rules& rules) noexcept
      : chain_(chain), walked_(walked), stack_(stack), most_frames_(most_frames), rules_(rules) {}

  /// Makes `leaf` the innermost frame of the chain. What the chain holds then is the whole stack
  /// or, unless its end is another, more frames than are wanted. With `kBroken` and
  /// `kNeedsRegisters` the chain is as it was.
  UnwindOutcome walk_from(const UnwindFrame& leaf) noexcept {
    low_ = leaf.sp;
    candidates_ = chain_.size();
    walked_.clear();
    walked_.add(leaf, 0);
    for (;;) {
      if (meets_chain() && join()) return UnwindOutcome::kCaller;
      if (walked_.size() > most_frames_) return replace_chain(ChainEnd::kCut);
      const UnwindOutcome outcome = step();
      if (outcome == UnwindOutcome::kCaller) continue;
      if (outcome == UnwindOutcome::kOutermost) return replace_chain(ChainEnd::kOutermost);
      if (outcome == UnwindOutcome::kBroken && Rules::kBrokenEnds) {
        return replace_chain(ChainEnd::kFailed);
      }
      if (outcome != UnwindOutcome::kNoTable) return outcome;
      return replace_chain(walked_.last().sp >= os::initial_stack_pointer() ? ChainEnd::kOutermost
                                                                            : ChainEnd::kFailed);
    }
  }

 private:
  /// Whether the frame reached is one of the chain's: then that is number `candidates_ - 1`.
  /// Further out, stack pointers are higher.
  bool meets_chain() noexcept {
    const UnwindFrame& reached = walked_.last();
    while (candidates_ > 0 && chain_.frame(candidates_ - 1).sp < reached.sp) --candidates_;
    return candidates_ > 0 && chain_.frame(candidates_ - 1) == reached;
  }

  /// Whether the chain outside the frame that was met still holds, as far as it is wanted: the
  /// frames walked over then take the place of those inside. Else the frames that hold are added
  /// to those walked over, and the walk goes on behind them.
  bool join() noexcept {
    const std::size_t met = candidates_ - 1;
    const std::size_t wanted = most_frames_ + 1 - std::min(walked_.size(), most_frames_ + 1);
    const std::size_t changed = chain_.find_changed(met - std::min(met, wanted), met);
    const bool reaches = met >= wanted || chain_.end() != ChainEnd::kCut;
    if (changed == met && reaches) {
      const bool nothing_new = walked_.size() == 1 && candidates_ == chain_.size();
      if (!nothing_new) keep_outermost(met);
      return true;
    }
    const std::size_t first = changed == met ? 0 : changed + 1;
    for (std::size_t i = met; i > first; --i) walked_.add(chain_.frame(i - 1), chain_.words(i - 1));
    candidates_ = first;
    return false;
  }

  UnwindOutcome step() noexcept {
    UnwindFrame frame = walked_.last();
    const std::uintptr_t inner = frame.sp;
    NotedStack memory(low_, stack_.high, walked_.next_words());
    const UnwindOutcome outcome = step_outwards(frame, rules_.find(frame), memory);
    if (outcome != UnwindOutcome::kCaller) return outcome;
    if (frame.sp <= inner || frame.sp >= stack_.high) return UnwindOutcome::kBroken;
    walked_.add(frame, memory.noted());
    return UnwindOutcome::kCaller;
  }

  UnwindOutcome replace_chain(ChainEnd end) noexcept {
    chain_.set_end(end);
    keep_outermost(0);
    return UnwindOutcome::kCaller;
  }

  void keep_outermost(std::size_t frames) noexcept {
    chain_.cut_to(frames);
    for (std::size_t i = walked_.size(); i > 0; --i) {
      const WalkedFrames::Frame& walked = walked_[i - 1];
      chain_.push(walked.frame, walked.words, walked.word_count);
    }
  }

  VerifiedChain& chain_;
  WalkedFrames& walked_;
  const os::StackBounds& stack_;
  std::size_t most_frames_;
  const Rules& rules_;
  std::uintptr_t low_ = 0;
  std::size_t candidates_ = 0;
};

}  // namespace alloctap
