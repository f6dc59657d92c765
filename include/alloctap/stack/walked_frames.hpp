/// The frames that one capture has walked over, before they join a chain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "alloctap/guard/arena.hpp"
#include "alloctap/stack/unwind_frame.hpp"
#include "alloctap/stack/verified_chain.hpp"

namespace alloctap {

/// Frames leaf first, each with the words that it was found by. Memory from the arena, given back
/// by `release` alone. Belongs to one thread; runs inside malloc.
class WalkedFrames {
 public:
  struct Frame {
    UnwindFrame frame;
    std::size_t word_count = 0;
    FrameWords words;
  };

  /// Makes room for `frames` frames, and forgets what there was. False where the system has no
  /// memory.
  [[nodiscard]] bool reserve(std::size_t frames) noexcept {
    release();
    frames_ = static_cast<Frame*>(Arena::allocate(frames * sizeof(Frame)));
    if (frames_ == nullptr) return false;
    capacity_ = frames;
    return true;
  }

  void release() noexcept {
    if (frames_ != nullptr) Arena::deallocate(frames_, capacity_ * sizeof(Frame));
    frames_ = nullptr;
    capacity_ = size_ = 0;
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const Frame& operator[](std::size_t i) const noexcept { return frames_[i]; }
  [[nodiscard]] const UnwindFrame& last() const noexcept { return frames_[size_ - 1].frame; }
  void clear() noexcept { size_ = 0; }

  /// Where the words of the frame that comes next are to be noted.
  [[nodiscard]] std::span<StackWord> next_words() noexcept { return frames_[size_].words; }

  /// Adds a frame, the first `word_count` of whose words are noted already.
  void add(const UnwindFrame& frame, std::size_t word_count) noexcept {
    frames_[size_].frame = frame;
    frames_[size_].word_count = word_count;
    ++size_;
  }

  void add(const UnwindFrame& frame, std::span<const StackWord> words) noexcept {
    std::copy(words.begin(), words.end(), next_words().begin());
    add(frame, words.size());
  }

 private:
  Frame* frames_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace alloctap
