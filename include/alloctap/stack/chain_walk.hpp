/// An incremental stack walk that stops at the first cached frame, and its buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/stack/cached_frame_chain.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_rules.hpp"
#include "alloctap/stack/unwind_step.hpp"

namespace alloctap {

/// A buffer of frames, leaf first, each with the stack words read to find the frame. A capture
/// unwinds into the buffer, then adds the frames to the frame cache. The memory comes from the
/// arena and is freed only by `release`. Belongs to one thread; runs inside malloc.
class UnwindBuffer {
 public:
  /// Allocates room for `frames` frames with indeterminate content. Returns false if out of memory.
  [[nodiscard]] bool reserve(std::size_t frames) noexcept;

  void release() noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] NotedFrame& operator[](std::size_t i) noexcept { return frames_[i]; }
  [[nodiscard]] NotedFrame& last() noexcept { return frames_[size_ - 1]; }

  [[nodiscard]] std::span<const NotedFrame> all() const noexcept { return {frames_, size_}; }

  /// Clears the buffer and stores `leaf` without stack words. Returns the slot of `leaf`; outer
  /// frames follow it.
  NotedFrame& restart(const UnwindFrame& leaf) noexcept {
    size_ = 1;
    // Stores field by field, because GCC would otherwise spill a leaf that is in registers.
    frames_[0].frame.pc = leaf.pc;
    frames_[0].frame.sp = leaf.sp;
    frames_[0].frame.fp = leaf.fp;
    frames_[0].step = {};
    return frames_[0];
  }

  /// Returns the slot of the next frame, which `add` appends. Precondition: the buffer is not full.
  [[nodiscard]] NotedFrame& next() noexcept { return frames_[size_]; }
  void add() noexcept { ++size_; }

  /// Appends all frames that were written to slots up to and including `outermost`.
  void add_up_to(const NotedFrame& outermost) noexcept {
    size_ = static_cast<std::size_t>(&outermost - frames_) + 1;
  }

 private:
  NotedFrame* frames_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

/// An incremental unwind that updates a `CachedFrameChain` to the calling thread's stack. `Rules`
/// is described at `ChainCapture`. Runs inside malloc.
template <class Rules>
class ChainWalk {
 public:
  /// Returns the `UnwindBuffer` capacity for captures of `max_frames` frames. The capacity exceeds
  /// `max_frames`, because otherwise each return from a deep recursion would rewalk all frames.
  static constexpr std::size_t walked_frames_for(std::size_t max_frames) noexcept {
    return 2 * (max_frames + 1);
  }
  static constexpr std::size_t chain_frames_for(std::size_t max_frames) noexcept {
    return 3 * (max_frames + 1);
  }

  /// Keeps references to all arguments. `stack` is the address range of the chain's stack.
  ChainWalk(CachedFrameChain& chain, UnwindBuffer& walked, const os::StackBounds& stack,
            std::size_t max_frames, const Rules& rules) noexcept
      : chain_(chain), walked_(walked), stack_(stack), max_frames_(max_frames), rules_(rules) {}

  /// Makes `leaf` the innermost frame of the chain. On `kCaller`, the chain has the whole stack or,
  /// if `end()` is `kCut`, more than `max_frames` frames. On `kBroken` and `kNeedsRegisters`, the
  /// chain is unchanged.
  ALLOCTAP_ALWAYS_INLINE UnwindOutcome walk_from(const UnwindFrame& leaf) noexcept {
    const CachedFrameChain::Place innermost = chain_.place(chain_.size() - 1);
    if (innermost.is(leaf)) {
      const std::size_t number = chain_.size() - 1;
      if (find_next(number, 1) == number) return UnwindOutcome::kCaller;
    }
    return walk_on_from(leaf);
  }

 private:
  ALLOCTAP_NOINLINE UnwindOutcome walk_on_from(const UnwindFrame& kept_leaf) noexcept {
    // A copy, because GCC would reload the rules through a reference after each word stored.
    const Rules rules = rules_;
    const UnwindFrame leaf = loaded_apart(kept_leaf);
    if (!LiveStack::is_aligned(leaf.sp)) return UnwindOutcome::kBroken;
    const LiveStack memory(leaf.sp, stack_.high);
    CachedFrameChain::Place place = chain_.place(chain_.size() - 1);
    NotedFrame* reached = &walked_.restart(leaf);
    const NotedFrame* const furthest = reached + walked_frames_for(max_frames_) - 1;
    for (UnwindFrame frame = leaf;; ++reached) {
      place.go_out_to(frame.sp);
      if (place.is(frame)) [[unlikely]] {
        walked_.add_up_to(*reached);
        const std::size_t met = chain_.number_of(place);
        const std::size_t next = find_next(met, walked_.size());
        if (next == met) return join(met);
        place = chain_.place(next);
      }
      if (reached == furthest) [[unlikely]] {
        walked_.add_up_to(*reached);
        return replace_chain(ChainEnd::kCut, FramePointerUse::kUsed);
      }
      const UnwindRule rule = rules.find(frame);
      if (!rule.is_plain()) [[unlikely]] {
        const UnwindOutcome outcome = step_slow(*reached, rule);
        if (outcome != UnwindOutcome::kCaller) return end_with(outcome, rule);
        frame = reached[1].frame;
        continue;
      }
      UnwindFrame caller;
      const UnwindOutcome outcome = step_plainly(frame, rule, reached[1], caller, memory);
      if (outcome != UnwindOutcome::kCaller) [[unlikely]] {
        walked_.add_up_to(*reached);
        return end_with(outcome, rule);
      }
      frame = caller;
    }
  }

  /// Steps by a rule whose CFA is not sp or fp plus an offset. Out of line, with the rule by value,
  /// so that the fast path's values stay in registers.
  ALLOCTAP_NOINLINE UnwindOutcome step_slow(NotedFrame& reached, UnwindRule rule) noexcept {
    walked_.add_up_to(reached);
    const UnwindFrame frame = reached.frame;
    NotedFrame& caller = walked_.next();
    const LiveStack memory(walked_[0].frame.sp, stack_.high);
    const bool has_table = rule.kind != UnwindRule::Kind::kNone;
    const UnwindOutcome outcome = has_table
                                      ? step_specially(frame, rule, caller, memory)
                                      : step_by_record(frame, caller, stack_.high, rules_, memory);
    if (outcome != UnwindOutcome::kCaller) return outcome;
    const bool is_further_out = caller.frame.sp > frame.sp && caller.frame.sp < stack_.high;
    return is_further_out ? outcome : UnwindOutcome::kBroken;
  }

  /// Copies `frame` field by field, as it was stored, because a wide load would stall on
  /// forwarding.
  static UnwindFrame loaded_apart(const UnwindFrame& frame) noexcept {
    std::uintptr_t pc = frame.pc;
    std::uintptr_t sp = frame.sp;
    ALLOCTAP_HIDE_VALUE(pc);
    ALLOCTAP_HIDE_VALUE(sp);
    return {.pc = pc, .sp = sp, .fp = frame.fp};
  }

  /// Validates the cached frames outside frame `met`, up to the limit on frames. `walked` is the
  /// number of frames from the leaf to `met`. Returns `met` if the frames are valid. Otherwise
  /// returns the innermost cached frame that the walk may still reach. Returns `kEnd` if only the
  /// end of the stack has changed or is unknown.
  ALLOCTAP_NOINLINE std::size_t find_next(std::size_t met, std::size_t walked) const noexcept {
    const std::size_t wanted = max_frames_ + 1 - std::min(walked, max_frames_ + 1);
    const std::size_t changed = chain_.find_changed(met - std::min(met, wanted), met);
    const bool reaches = met >= wanted || chain_.end_is_sure();
    return changed != met || reaches ? changed : CachedFrameChain::kEnd;
  }

  /// Replaces the frames inside `met` by the frames just walked.
  UnwindOutcome join(std::size_t met) noexcept {
    const bool matters = chain_.pointer_matters(met);
    keep_outermost(met, matters ? FramePointerUse::kUsed : FramePointerUse::kIgnored);
    return UnwindOutcome::kCaller;
  }

  ALLOCTAP_NOINLINE UnwindOutcome end_with(UnwindOutcome outcome, UnwindRule rule) noexcept {
    const bool by_rule = rule.kind == UnwindRule::Kind::kOutermost;
    if (outcome == UnwindOutcome::kOutermost && !by_rule) return end_with_zero(rule.pointer_use());
    constexpr auto use =
        Rules::kPointerDecides ? FramePointerUse::kUsed : FramePointerUse::kIgnored;
    if (outcome == UnwindOutcome::kOutermost) return replace_chain(ChainEnd::kOutermost, use);
    if (outcome == UnwindOutcome::kNoTable) {
      const bool whole = os::is_initial_frame(walked_.last().frame.sp);
      return whole ? replace_chain(ChainEnd::kOutermost, use) : end_without_table();
    }
    if (Rules::kPointerDecides) return replace_chain(ChainEnd::kFailed, use);
    return outcome;
  }

  /// Ends the chain at a return address of 0. `use` is how the last frame's rule uses fp.
  UnwindOutcome end_with_zero(FramePointerUse use) noexcept {
    return replace_chain(ChainEnd::kOutermost, use, words_beyond());
  }

  /// Ends the chain at a frame without an unwind table whose fp leads to no frame record. Later
  /// captures validate fp and the words read, because other values might lead to a record.
  UnwindOutcome end_without_table() noexcept {
    return replace_chain(ChainEnd::kFailed, FramePointerUse::kUsed, words_beyond());
  }

  /// Returns the words that the last step read in search of a caller.
  [[nodiscard]] std::span<const StackWord> words_beyond() const noexcept {
    const NotedFrame& beyond = walked_.next();
    const std::size_t words =
        beyond.step.word_count - (beyond.step.last_word_is_frame_pointer ? 1U : 0U);
    return std::span(beyond.words).first(words);
  }

  /// Replaces the chain by the walked frames. `use` is how the outermost frame's rule uses fp.
  UnwindOutcome replace_chain(ChainEnd end, FramePointerUse use,
                              std::span<const StackWord> words_of_end = {}) noexcept {
    chain_.begin_at(end, words_of_end);
    keep_outermost(0, use);
    return UnwindOutcome::kCaller;
  }

  void keep_outermost(std::size_t frames, FramePointerUse use_of_last) noexcept {
    chain_.cut_to(frames);
    chain_.push_walked(walked_.all(), use_of_last);
  }

  CachedFrameChain& chain_;
  UnwindBuffer& walked_;
  const os::StackBounds& stack_;
  std::size_t max_frames_;
  const Rules& rules_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/chain_walk.hpp"
#endif
