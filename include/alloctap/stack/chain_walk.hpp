/// A capture by rules, as short as the last one allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_frame.hpp"
#include "alloctap/stack/unwind_step.hpp"
#include "alloctap/stack/verified_chain.hpp"
#include "alloctap/stack/walked_frames.hpp"

namespace alloctap {

/// Brings a chain up to date with the stack of the calling thread. `Rules` as in `ChainCapture`.
/// Runs inside malloc.
template <class Rules>
class ChainWalk {
 public:
  /// Room for captures of `most_frames`: a walk goes further than that, so that a recursion that
  /// returns step by step does not walk as far at each.
  static constexpr std::size_t walked_frames_for(std::size_t most_frames) noexcept {
    return 2 * (most_frames + 1);
  }
  static constexpr std::size_t chain_frames_for(std::size_t most_frames) noexcept {
    return 3 * (most_frames + 1);
  }

  /// `stack` is the one that the chain belongs to. Refers to all of them.
  ChainWalk(VerifiedChain& chain, WalkedFrames& walked, const os::StackBounds& stack,
            std::size_t most_frames, const Rules& rules) noexcept
      : chain_(chain), walked_(walked), stack_(stack), most_frames_(most_frames), rules_(rules) {}

  /// Makes `leaf` the innermost frame of the chain. What the chain holds then is the whole stack
  /// or, if its end is `kCut`, more frames than are wanted. With `kBroken` and `kNeedsRegisters`
  /// the chain is as it was.
  ALLOCTAP_ALWAYS_INLINE UnwindOutcome walk_from(const UnwindFrame& leaf) noexcept {
    candidates_ = chain_.size();
    if (meets_chain(leaf) && candidates_ == chain_.size() && outer_frames_hold(1)) {
      return UnwindOutcome::kCaller;
    }
    return walk_on_from(leaf);
  }

 private:
  ALLOCTAP_NOINLINE UnwindOutcome walk_on_from(const UnwindFrame& kept_leaf) noexcept {
    const UnwindFrame leaf = loaded_apart(kept_leaf);
    const LiveStack memory(leaf.sp, stack_.high);
    NotedFrame* reached = &walked_.restart(leaf);
    const NotedFrame* const furthest = reached + walked_frames_for(most_frames_) - 1;
    for (UnwindFrame frame = leaf;; ++reached) {
      if (meets_chain(frame)) [[unlikely]] {
        walked_.add_up_to(*reached);
        if (outer_frames_hold(walked_.size())) return join();
      }
      if (reached == furthest) [[unlikely]] {
        walked_.add_up_to(*reached);
        return replace_chain(ChainEnd::kCut);
      }
      const UnwindRule rule = rules_.find(frame);
      reached->use = rule.pointer_use();
      NotedFrame& caller = reached[1];
      UnwindOutcome outcome = step_outwards(frame, rule, caller, memory);
      const UnwindFrame found = caller.frame;
      if (outcome == UnwindOutcome::kCaller && !is_further_out(found, frame)) {
        outcome = UnwindOutcome::kBroken;
      }
      if (outcome != UnwindOutcome::kCaller) [[unlikely]] {
        walked_.add_up_to(*reached);
        return end_with(outcome, rule);
      }
      frame = found;
    }
  }

  /// Field by field, as it was written a moment before: a load of two at once would wait until both
  /// have reached the cache.
  static UnwindFrame loaded_apart(const UnwindFrame& frame) noexcept {
    std::uintptr_t pc = frame.pc;
    std::uintptr_t sp = frame.sp;
    ALLOCTAP_HIDE_VALUE(pc);
    ALLOCTAP_HIDE_VALUE(sp);
    return {.pc = pc, .sp = sp, .fp = frame.fp};
  }

  [[nodiscard]] bool is_further_out(const UnwindFrame& caller,
                                    const UnwindFrame& frame) const noexcept {
    return caller.sp > frame.sp && caller.sp < stack_.high;
  }

  /// Whether the frame reached is one of the chain's: then that is number `candidates_ - 1`.
  /// Further out, stack pointers are higher, and at the end of the chain higher than all.
  bool meets_chain(const UnwindFrame& reached) noexcept {
    static_assert(VerifiedChain::kEnd + 1 == 0);
    std::size_t candidates = candidates_;
    // The first without a branch: mostly there is none or one, and which is anybody's guess.
    std::size_t passed = chain_.sp(candidates - 1) < reached.sp ? 1 : 0;
    ALLOCTAP_HIDE_VALUE(passed);
    candidates -= passed;
    while (chain_.sp(candidates - 1) < reached.sp) [[unlikely]] {
      --candidates;
    }
    candidates_ = candidates;
    return chain_.is(candidates - 1, reached);
  }

  /// Whether the chain outside the frame that was met still holds, as far as it is wanted. `walked`
  /// counts the frames up to that one. If not, candidates are left that may be met further out;
  /// none where only the end of the stack does not hold, or is not known.
  bool outer_frames_hold(std::size_t walked) noexcept {
    const std::size_t met = candidates_ - 1;
    const std::size_t wanted = most_frames_ + 1 - std::min(walked, most_frames_ + 1);
    const std::size_t changed = chain_.find_changed(met - std::min(met, wanted), met);
    const bool reaches = met >= wanted || chain_.end_is_sure();
    if (changed == met && reaches) return true;
    static_assert(VerifiedChain::kEnd + 1 == 0);
    candidates_ = changed == met ? 0 : changed + 1;
    return false;
  }

  /// The frames walked over take the place of those inside the one that was met.
  UnwindOutcome join() noexcept {
    const std::size_t met = candidates_ - 1;
    const bool matters = chain_.pointer_matters(met);
    walked_.last().use = matters ? FramePointerUse::kUsed : FramePointerUse::kIgnored;
    keep_outermost(met);
    return UnwindOutcome::kCaller;
  }

  UnwindOutcome end_with(UnwindOutcome outcome, const UnwindRule& rule) noexcept {
    NotedFrame& last = walked_.last();
    const bool by_rule = rule.kind == UnwindRule::Kind::kOutermost;
    if (outcome == UnwindOutcome::kOutermost && !by_rule) return end_with_zero();
    last.use = Rules::kPointerDecides ? FramePointerUse::kUsed : FramePointerUse::kIgnored;
    if (outcome == UnwindOutcome::kOutermost) return replace_chain(ChainEnd::kOutermost);
    if (outcome == UnwindOutcome::kNoTable) {
      const bool whole = last.frame.sp >= os::initial_stack_pointer();
      return replace_chain(whole ? ChainEnd::kOutermost : ChainEnd::kFailed);
    }
    if (Rules::kPointerDecides) return replace_chain(ChainEnd::kFailed);
    return outcome;
  }

  /// The step has noted the words that it read as it would have for a caller. The frame pointer of
  /// the last frame matters as its rule says; its caller's, to nobody.
  UnwindOutcome end_with_zero() noexcept {
    const NotedFrame& beyond = walked_.next();
    const std::size_t words = beyond.word_count - (beyond.last_word_is_frame_pointer ? 1 : 0);
    return replace_chain(ChainEnd::kOutermost, std::span(beyond.words).first(words));
  }

  UnwindOutcome replace_chain(ChainEnd end, std::span<const StackWord> words_of_end = {}) noexcept {
    if (end == ChainEnd::kCut) walked_.last().use = FramePointerUse::kUsed;
    chain_.begin_at(end, words_of_end);
    keep_outermost(0);
    return UnwindOutcome::kCaller;
  }

  void keep_outermost(std::size_t frames) noexcept {
    chain_.cut_to(frames);
    chain_.push_walked(walked_.all());
  }

  VerifiedChain& chain_;
  WalkedFrames& walked_;
  const os::StackBounds& stack_;
  std::size_t most_frames_;
  const Rules& rules_;
  std::size_t candidates_ = 0;
};

}  // namespace alloctap
