/// A buffer for the frames that a capture unwinds before it adds them to the frame cache.
#pragma once

#include <cstddef>
#include <span>

#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// An array of frames, leaf first, each with the stack words read to find it. Its memory comes from
/// the arena and is freed only by `release`. Belongs to one thread; runs inside malloc.
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

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_buffer.hpp"
#endif
