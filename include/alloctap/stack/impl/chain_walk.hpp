/// Definitions for stack/chain_walk.hpp.
#pragma once

#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/chain_walk.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool UnwindBuffer::reserve(std::size_t frames) noexcept {
  release();
  frames_ = static_cast<NotedFrame*>(Arena::allocate(frames * sizeof(NotedFrame)));
  if (frames_ == nullptr) return false;
  capacity_ = frames;
  return true;
}

ALLOCTAP_INLINE void UnwindBuffer::release() noexcept {
  if (frames_ != nullptr) Arena::deallocate(frames_, capacity_ * sizeof(NotedFrame));
  frames_ = nullptr;
  capacity_ = size_ = 0;
}

}  // namespace alloctap
