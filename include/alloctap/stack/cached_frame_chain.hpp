/// The frames of a stack's last capture, and what makes sure that they are still there.
///
/// Why looking at a few words is enough. A frame is (pc, sp, fp). Its caller is a function of the
/// frame, of the rule at its pc, and of the words of the stack that the rule reads: the return
/// address, often a saved frame pointer, rarely more. Where those words lie follows from the frame
/// and the rule alone. So if a frame is the same as one that was kept, its rule is the same (rules
/// change only with the epoch), its words are at the kept addresses, and if these hold the kept
/// values the caller is the kept one. By induction, all frames outside a frame that was met again
/// hold if every kept word outside it holds; and where one does not, the frames inside of it do.
/// No return address is patched, so whatever a program does to its stack is seen.
///
/// Most code uses the frame pointer as any other register: functions save and restore it, and no
/// rule asks for it. A frame's pointer matters if its own rule reads it, or leaves it to a caller
/// whose pointer matters. Where it does not, nothing that a capture yields depends on it: the word
/// that told it is not kept, and frames are the same without being the same there.
///
/// Where a stack ends is told in the same way, by the outermost frame, its rule and the words that
/// the rule reads: none where the rule says that there is no caller; the return address where it is
/// 0, as at the beginning of each thread on Windows. So the end is one more link of the chain, with
/// words of its own outside all others, and the whole stack holds if these hold too. Where one of
/// them does not, the stack goes on there, or ends in another way: every frame of the chain is what
/// it was, and none is known to have the same callers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/chain_frame.hpp"
#include "alloctap/stack/stack_words.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// How the walk that found a chain's outermost frame ended.
enum class ChainEnd : std::uint8_t {
  /// At the outermost frame of the stack: its rule says so, or its return address is 0.
  kOutermost,
  /// Where it could not go on.
  kFailed,
  /// At the limit on frames: the chain does not know its callers.
  kCut,
};

/// Frames from the outermost (number 0) inwards, each with the words that it was found by and the
/// hash of the stack up to it; and the words that the end of the stack was found by. Memory from
/// the arena, given back by `release` alone: the chain lives as long as its thread's state. Belongs
/// to one thread; runs inside malloc.
class CachedFrameChain {
  using Frame = ChainFrame;

 public:
  using Place = ChainPlace;

  /// What `find_changed` says of the end: it lies outside of frame 0.
  static constexpr std::size_t kEnd = SIZE_MAX;

  /// Makes room for `frames` frames, and forgets what there was. False where the system has no
  /// memory.
  [[nodiscard]] bool reserve(std::size_t frames) noexcept;

  void release() noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] ChainEnd end() const noexcept { return end_; }
  /// Whether a walk that reaches the outermost frame would end there again, as long as the words of
  /// the end hold.
  [[nodiscard]] bool end_is_sure() const noexcept { return end_ != ChainEnd::kCut; }

  /// Forgets all frames. The next one is the outermost before such an end, which was found by
  /// `words`: at most `kMaxWordsOfFrame`, in live stack as long as that frame is.
  /// Precondition: there is room.
  void begin_at(ChainEnd end, std::span<const StackWord> words) noexcept {
    size_ = 0;
    end_ = end;
    std::copy(words.begin(), words.end(), words_);
    end_frame().frame = {.pc = 0, .sp = UINTPTR_MAX, .fp = 0};
    end_frame().words_end = static_cast<std::uint32_t>(words.size());
    end_frame().by_records = false;
  }

  [[nodiscard]] std::uintptr_t pc(std::size_t i) const noexcept { return frames_[i].frame.pc; }
  /// Of `kEnd`, more than any.
  [[nodiscard]] std::uintptr_t sp(std::size_t i) const noexcept { return at(i).frame.sp; }
  /// Writes the addresses of the innermost frames, leaf first. Precondition: there are so many.
  void copy_innermost(std::span<std::uintptr_t> pcs) const noexcept {
    const Frame* frame = frames_ + size_;
    for (std::uintptr_t& pc : pcs) pc = (--frame)->frame.pc;
  }

  /// In halves, as it was written: a load of both at once would wait until both have reached the
  /// cache.
  [[nodiscard]] StackHash hash(std::size_t i) const noexcept {
    StackHash& hash = hashes_[i];
    return {.first = std::atomic_ref(hash.first).load(std::memory_order_relaxed),
            .second = std::atomic_ref(hash.second).load(std::memory_order_relaxed)};
  }

  /// Whether frame `i` is `frame` in all that matters. `kEnd` is none.
  [[nodiscard]] bool is(std::size_t i, const UnwindFrame& frame) const noexcept {
    return place(i).is(frame);
  }

  [[nodiscard]] Place place(std::size_t i) const noexcept { return Place(&at(i)); }
  /// `kEnd` where it is at the end.
  [[nodiscard]] std::size_t number_of(const Place& place) const noexcept {
    return static_cast<std::size_t>(place.frame() - frames_);
  }

  /// Whether the frame pointer of frame `i` matters.
  [[nodiscard]] bool pointer_matters(std::size_t i) const noexcept {
    return frames_[i].pointer_matters;
  }

  /// Whether frame `i`, or one outside of it, was found by a frame record.
  [[nodiscard]] bool is_by_records(std::size_t i) const noexcept { return frames_[i].by_records; }

  /// Keeps the outermost `size` frames.
  void cut_to(std::size_t size) noexcept { size_ = size; }

  /// Adds a frame inside, whose frame pointer matters or not. What no longer fits makes the chain
  /// forget its outer half.
  void push(const NotedFrame& noted, bool pointer_matters) noexcept {
    make_room();
    Tail(*this).add(noted, pointer_matters);
    ++size_;
  }

  /// Adds what a walk found, leaf first: whether a frame's pointer matters is told by the uses on
  /// the way outwards from it and from those outside it. `use` is that of the outermost.
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

  /// The innermost of the frames `[first, end)` one of whose words has changed; from frame 0 on,
  /// the end of the stack is among them, as `kEnd`. `end` where none has. Every word lies in live
  /// stack as long as the frame `end` does.
  [[nodiscard]] std::size_t find_changed(std::size_t first, std::size_t end) const noexcept {
    const StackWord* const low = words_ + (first == 0 ? 0 : words_begin(first));
    const StackWord* const word = last_changed(low, words_ + words_begin(end));
    return word == low ? end : frame_of_word(static_cast<std::size_t>(word - 1 - words_), end);
  }

  /// The words of the end and of all frames, outermost first; valid until the chain changes.
  [[nodiscard]] std::span<const StackWord> words() const noexcept {
    return {words_, words_begin(size_)};
  }

 private:
  /// Where the next frames go, there being room. Apart from the chain, so that what is the same for
  /// all of them stays in registers.
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
      // Or else the compiler makes a branch of it, and every other frame is guessed wrong.
      ALLOCTAP_HIDE_VALUE(drop);
      words_end_ += noted.step.word_count - drop;
      sum_ = sum_.with(noted.frame.pc);
      // Field by field: GCC makes a whole one elsewhere, and waits for it before it copies it.
      frame_->frame = noted.frame;
      frame_->words_end = words_end_;
      frame_->pointer_matters = pointer_matters;
      by_records_ |= noted.step.by_record;
      frame_->by_records = by_records_;
      ++frame_;
      *hash_++ = sum_;
    }

   private:
    /// Without a question for the two that nearly all frames have at most: the last frame's have
    /// room too.
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

  /// Stands outside frame 0 for the end of the stack: it has words, and no frame is beyond it.
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

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/cached_frame_chain.hpp"
#endif
