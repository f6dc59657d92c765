/// The frames that one capture has walked over, before they join a chain.
#pragma once

#include <cstddef>
#include <span>

#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// Frames leaf first, each with the words that it was found by. Memory from the arena, given back
/// by `release` alone. Belongs to one thread; runs inside malloc.
class UnwindBuffer {
 public:
  /// Makes room for `frames` frames, whose content is arbitrary. False where the system has no
  /// memory.
  [[nodiscard]] bool reserve(std::size_t frames) noexcept;

  void release() noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] NotedFrame& operator[](std::size_t i) noexcept { return frames_[i]; }
  [[nodiscard]] NotedFrame& last() noexcept { return frames_[size_ - 1]; }

  [[nodiscard]] std::span<const NotedFrame> all() const noexcept { return {frames_, size_}; }

  /// Begins anew with `leaf`, which no word of the stack told. The result is its place; the frames
  /// further out have theirs behind it.
  NotedFrame& restart(const UnwindFrame& leaf) noexcept {
    size_ = 1;
    // Field by field: a leaf that was made a moment before need not be in memory.
    frames_[0].frame.pc = leaf.pc;
    frames_[0].frame.sp = leaf.sp;
    frames_[0].frame.fp = leaf.fp;
    frames_[0].step = {};
    return frames_[0];
  }

  /// Where the next frame goes; `add` keeps it. Precondition: there is room.
  [[nodiscard]] NotedFrame& next() noexcept { return frames_[size_]; }
  void add() noexcept { ++size_; }

  /// Keeps what was written from the leaf's place up to `outermost`.
  void add_up_to(const NotedFrame& outermost) noexcept {
    size_ = static_cast<std::size_t>(&outermost - frames_) + 1;
  }

 private:
  NotedFrame* frames_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_buffer.hpp"
#endif
