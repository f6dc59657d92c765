/// A per-stack cache of the last captured frames, validated by comparison of stack words.
///
/// Why comparing words is enough. A frame is (pc, sp, fp). The caller depends on the frame, the
/// unwind rule at the frame's pc, and the stack words that the rule reads. A rule reads the return
/// address, often a saved frame pointer, rarely more. The frame and the rule alone determine the
/// addresses of the words. So if a frame equals a cached frame, one rule applies to both frames
/// (rules change only when `UnwindRules::epoch` does). If the words at the cached addresses also
/// hold the cached values, the caller is the cached caller. By induction, all frames outside a
/// matching frame are valid if all cached words outside it are unchanged. If a word has changed,
/// the frames inside it are still valid. This scheme patches no return address, so the capture sees
/// whatever a program does to its stack.
///
/// Most code uses the frame pointer as a general-purpose register: functions save and restore it,
/// and no rule reads it. A frame's fp matters if the frame's rule reads fp, or passes fp on to a
/// caller whose fp matters. If fp does not matter, no result of a capture depends on it. Therefore
/// the word that fp was loaded from is not cached, and two frames may match although their fp
/// differ.
///
/// The end of the stack is validated by the words that the outermost frame's rule reads. A rule
/// that says that the frame has no caller reads no words. If the stack ends with a return address
/// of 0, as on every Windows thread, the rule reads that return address. So the chain stores the
/// end and its words like one more frame, outside all frames. The whole stack is valid if the words
/// of the end are unchanged, too. If a word of the end has changed, the stack continues or ends in
/// another way. All cached frames are then still correct, but their outer callers are unknown.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// Returns 0 if `word` is unchanged.
[[nodiscard]] inline std::uintptr_t change_of(const StackWord& word) noexcept {
  return load_word(word.address) ^ word.value;
}

/// Returns 0 if the four words below `end` are unchanged. Unrolled, so that the loads are
/// independent.
[[nodiscard]] ALLOCTAP_ALWAYS_INLINE std::uintptr_t change_of_four(const StackWord* end) noexcept {
  const std::uintptr_t inner = change_of(end[-1]) | change_of(end[-2]);
  const std::uintptr_t outer = change_of(end[-3]) | change_of(end[-4]);
  return inner | outer;
}

/// Returns one past the last word of `[low, high)` that has changed, or `low` if all are unchanged.
/// Searches from the end, because the innermost words change first.
[[nodiscard]] inline const StackWord* last_changed(const StackWord* low,
                                                   const StackWord* high) noexcept {
  const StackWord* word = high;
  while (word - low >= 4 && change_of_four(word) == 0) word -= 4;
  while (word != low && change_of(word[-1]) == 0) --word;
  return word;
}

/// A frame as `CachedFrameChain` stores it.
struct ChainFrame {
  UnwindFrame frame;
  /// The end of the frame's words in the chain's word list. The words begin at the `words_end` of
  /// the next outer frame.
  std::uint32_t words_end;
  bool pointer_matters;
  /// Whether this frame, or a frame outside it, was found by a frame record.
  bool by_records;
};

/// A cursor that a walk moves outwards through a chain. Stops at the end sentinel, whose stack
/// pointer is above all others. Valid until the chain changes.
class ChainPlace {
 public:
  explicit ChainPlace(const ChainFrame* frame) noexcept : frame_(frame) {}

  [[nodiscard]] const ChainFrame* frame() const noexcept { return frame_; }

  /// Moves outwards past all frames whose stack pointers are below `sp`. The first move is
  /// branch-free, because a branch would be mispredicted often.
  ALLOCTAP_ALWAYS_INLINE void go_out_to(std::uintptr_t sp) noexcept {
    std::ptrdiff_t passed = frame_->frame.sp < sp ? 1 : 0;
    ALLOCTAP_HIDE_VALUE(passed);
    frame_ -= passed;
    while (frame_->frame.sp < sp) [[unlikely]] {
      --frame_;
    }
  }

  /// Returns whether this frame equals `frame`, ignoring an fp that does not matter. The end
  /// sentinel never matches.
  [[nodiscard]] bool is(const UnwindFrame& frame) const noexcept {
    const UnwindFrame& kept = frame_->frame;
    return kept.pc == frame.pc && kept.sp == frame.sp &&
           (kept.fp == frame.fp || !frame_->pointer_matters);
  }

 private:
  const ChainFrame* frame_;
};

/// How the walk that produced a chain ended.
enum class ChainEnd : std::uint8_t {
  /// At the outermost frame, whose rule says that it has no caller or whose return address is 0.
  kOutermost,
  /// At a frame whose caller could not be found.
  kFailed,
  /// At the limit on frames, so the outer callers are not in the chain.
  kCut,
};

/// The cached frames of one stack, from the outermost (number 0) inwards. Each frame is stored with
/// the stack words that its callee's rule read to find it. Each frame also has the hash of all
/// frames from the outermost to itself. Memory comes from the arena and is freed only by `release`,
/// so a chain lives as long as its thread's state. Not thread-safe: belongs to one thread. Runs
/// inside malloc.
class CachedFrameChain {
  using Frame = ChainFrame;

 public:
  using Place = ChainPlace;

  /// The index that `find_changed` returns for the end of the stack, outside frame 0.
  static constexpr std::size_t kEnd = SIZE_MAX;

  /// Allocates room for `frames` frames and empties the chain. Returns false if out of memory.
  [[nodiscard]] bool reserve(std::size_t frames) noexcept;

  void release() noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] ChainEnd end() const noexcept { return end_; }
  /// Returns whether the chain has the stack's end. The end is valid while its words are unchanged.
  [[nodiscard]] bool end_is_sure() const noexcept { return end_ != ChainEnd::kCut; }

  /// Empties the chain and stores how the stack ends. The next frame added is the outermost.
  /// `words` (at most `kMaxWordsOfFrame`) validate the end and are in live stack while the
  /// outermost frame is. Precondition: the chain has capacity.
  void begin_at(ChainEnd end, std::span<const StackWord> words) noexcept {
    size_ = 0;
    end_ = end;
    std::copy(words.begin(), words.end(), words_);
    end_frame().frame = {.pc = 0, .sp = UINTPTR_MAX, .fp = 0};
    end_frame().words_end = static_cast<std::uint32_t>(words.size());
    end_frame().by_records = false;
  }

  [[nodiscard]] std::uintptr_t pc(std::size_t i) const noexcept { return frames_[i].frame.pc; }
  /// Returns the frame's stack pointer; for `kEnd`, a value above all stack pointers.
  [[nodiscard]] std::uintptr_t sp(std::size_t i) const noexcept { return at(i).frame.sp; }
  /// Writes the pcs of the innermost frames, leaf first. Precondition: `pcs.size() <= size()`.
  void copy_innermost(std::span<std::uintptr_t> pcs) const noexcept {
    const Frame* frame = frames_ + size_;
    for (std::uintptr_t& pc : pcs) pc = (--frame)->frame.pc;
  }

  /// Returns the hash of frames 0 to `i`. Loads the hash in two halves, as `push` stored them,
  /// because one wide load would stall on store forwarding.
  [[nodiscard]] StackHash hash(std::size_t i) const noexcept {
    StackHash& hash = hashes_[i];
    return {.first = std::atomic_ref(hash.first).load(std::memory_order_relaxed),
            .second = std::atomic_ref(hash.second).load(std::memory_order_relaxed)};
  }

  /// Returns whether frame `i` equals `frame`, ignoring an fp that does not matter; false for
  /// `kEnd`.
  [[nodiscard]] bool is(std::size_t i, const UnwindFrame& frame) const noexcept {
    return place(i).is(frame);
  }

  [[nodiscard]] Place place(std::size_t i) const noexcept { return Place(&at(i)); }
  /// Returns the frame number at `place`, or `kEnd`.
  [[nodiscard]] std::size_t number_of(const Place& place) const noexcept {
    return static_cast<std::size_t>(place.frame() - frames_);
  }

  /// Returns whether the frame pointer of frame `i` matters (see the top of this file).
  [[nodiscard]] bool pointer_matters(std::size_t i) const noexcept {
    return frames_[i].pointer_matters;
  }

  /// Returns whether frame `i`, or a frame outside it, was found by a frame record.
  [[nodiscard]] bool is_by_records(std::size_t i) const noexcept { return frames_[i].by_records; }

  /// Drops all but the outermost `size` frames.
  void cut_to(std::size_t size) noexcept { size_ = size; }

  /// Adds an innermost frame. If the chain is full, drops its outer half first.
  void push(const NotedFrame& noted, bool pointer_matters) noexcept {
    make_room();
    Tail(*this).add(noted, pointer_matters);
    ++size_;
  }

  /// Adds the frames of a walk, given leaf first. Derives whether each frame's fp matters from how
  /// the steps outside the frame use fp. `use` says how the step from the outermost frame uses fp.
  void push_walked(std::span<const NotedFrame> leaf_first, FramePointerUse use) noexcept {
    bool matters = false;
    for (std::size_t left = leaf_first.size(); left > 0;) {
      make_room();
      Tail tail(*this);
      const std::size_t end = left - std::min(left, capacity_ - size_);
      size_ += left - end;
      for (; left > end; --left) {
        const NotedFrame& noted = leaf_first[left - 1];
        matters = use == FramePointerUse::kUsed || (use == FramePointerUse::kPassedOn && matters);
        tail.add(noted, matters);
        use = noted.step.use;
      }
    }
  }

  /// Returns the innermost frame of `[first, end)` with a changed word, or `end` if no word has
  /// changed. If `first` is 0, also checks the words of the stack's end, and returns `kEnd` if only
  /// such a word has changed. Loads only words in live stack if frame `end` is in live stack.
  [[nodiscard]] std::size_t find_changed(std::size_t first, std::size_t end) const noexcept {
    const StackWord* const low = words_ + (first == 0 ? 0 : words_begin(first));
    const StackWord* const word = last_changed(low, words_ + words_begin(end));
    return word == low ? end : frame_of_word(static_cast<std::size_t>(word - 1 - words_), end);
  }

  /// Returns the words of the end and of all frames, outermost first; valid until the chain
  /// changes.
  [[nodiscard]] std::span<const StackWord> words() const noexcept {
    return {words_, words_begin(size_)};
  }

 private:
  /// A cursor that appends frames to a chain that has room for the frames. Separate from the chain
  /// so that GCC keeps the cursor's fields in registers.
  class Tail {
   public:
    explicit Tail(CachedFrameChain& chain) noexcept
        : frame_(chain.frames_ + chain.size_),
          hash_(chain.hashes_ + chain.size_),
          words_(chain.words_),
          words_end_(frame_[-1].words_end),
          by_records_(frame_[-1].by_records) {
      if (chain.size_ > 0) sum_ = hash_[-1];
    }

    ALLOCTAP_ALWAYS_INLINE void add(const NotedFrame& noted, bool pointer_matters) noexcept {
      copy_words(noted);
      std::uint32_t drop = noted.step.last_word_is_frame_pointer && !pointer_matters ? 1 : 0;
      // Keeps GCC from emitting a branch, which would be mispredicted at every other frame.
      ALLOCTAP_HIDE_VALUE(drop);
      words_end_ += noted.step.word_count - drop;
      sum_ = sum_.with(noted.frame.pc);
      // Stores by field, because GCC would otherwise build a temporary and stall on forwarding.
      frame_->frame = noted.frame;
      frame_->words_end = words_end_;
      frame_->pointer_matters = pointer_matters;
      by_records_ |= noted.step.by_record;
      frame_->by_records = by_records_;
      ++frame_;
      *hash_++ = sum_;
    }

   private:
    /// Copies two words unconditionally, because few frames have more. The word list has room for
    /// two words even at the last frame.
    ALLOCTAP_ALWAYS_INLINE void copy_words(const NotedFrame& noted) const noexcept {
      StackWord* const words = words_ + words_end_;
      words[0] = noted.words[0];
      words[1] = noted.words[1];
      if (noted.step.word_count > 2) [[unlikely]] {
        std::copy(noted.words.begin() + 2, noted.words.end(), words + 2);
      }
    }

    Frame* frame_;
    StackHash* hash_;
    StackWord* words_;
    std::uint32_t words_end_;
    bool by_records_;
    StackHash sum_;
  };

  static std::size_t bytes_for(std::size_t frames) noexcept {
    return (frames + 1) * (sizeof(Frame) + sizeof(FrameWords)) + frames * sizeof(StackHash);
  }

  [[nodiscard]] const Frame& at(std::size_t i) const noexcept {
    return frames_[static_cast<std::ptrdiff_t>(i)];
  }

  /// Returns the sentinel outside frame 0, which holds the words of the stack's end.
  [[nodiscard]] Frame& end_frame() noexcept { return frames_[-1]; }

  [[nodiscard]] std::size_t words_begin(std::size_t i) const noexcept {
    return (frames_ + i)[-1].words_end;
  }

  [[nodiscard]] std::size_t frame_of_word(std::size_t word, std::size_t end) const noexcept {
    for (std::size_t frame = end; frame > 0; --frame) {
      if (words_begin(frame - 1) <= word) return frame - 1;
    }
    return kEnd;
  }

  void make_room() noexcept {
    if (size_ == capacity_) [[unlikely]] {
      forget_outer_half();
    }
  }

  void forget_outer_half() noexcept;

  std::byte* memory_ = nullptr;
  Frame* frames_ = nullptr;
  StackHash* hashes_ = nullptr;
  StackWord* words_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  ChainEnd end_ = ChainEnd::kCut;
};

/// The cached frames of one stack: a thread's own, or a fiber's. Used by one thread at a time.
struct StackChain {
  os::StackBounds bounds;
  CachedFrameChain chain;
  /// `rules` identifies the rules that found the cached frames; the rules were valid in `epoch`.
  const void* rules = nullptr;
  std::uint64_t epoch = 0;
  /// A number unique in the process, which changes when the stack, the rules or the epoch does.
  std::uint64_t serial = 0;

  /// Reserves room for `frames` frames. Empties the chain if it was too small, or if its frames
  /// were found by other rules or in another epoch. Returns false if out of memory.
  [[nodiscard]] bool prepare(std::size_t frames, const void* wanted_rules,
                             std::uint64_t wanted_epoch) noexcept {
    return is_prepared(frames, wanted_rules, wanted_epoch) ||
           restart(frames, wanted_rules, wanted_epoch);
  }

  /// Returns whether `prepare` would do nothing.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool is_prepared(std::size_t frames,
                                                        const void* wanted_rules,
                                                        std::uint64_t wanted_epoch) const noexcept {
    return chain.capacity() >= frames && rules == wanted_rules && epoch == wanted_epoch;
  }

  /// Sets the bounds to those of another stack, and empties the chain.
  void move_to(const os::StackBounds& stack) noexcept;

 private:
  bool restart(std::size_t frames, const void* wanted_rules, std::uint64_t wanted_epoch) noexcept;

  static std::uint64_t next_serial() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/cached_frame_chain.hpp"
#endif
