/// Definitions for stack/cached_frame_chain.hpp.
#pragma once

#include <cstring>

#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/cached_frame_chain.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool CachedFrameChain::reserve(std::size_t frames) noexcept {
  release();
  memory_ = static_cast<std::byte*>(Arena::allocate(bytes_for(frames)));
  if (memory_ == nullptr) return false;
  capacity_ = frames;
  frames_ = reinterpret_cast<Frame*>(memory_) + 1;
  hashes_ = reinterpret_cast<StackHash*>(frames_ + frames);
  words_ = reinterpret_cast<StackWord*>(hashes_ + frames);
  begin_at(ChainEnd::kCut, {});
  return true;
}

ALLOCTAP_INLINE void CachedFrameChain::release() noexcept {
  if (memory_ != nullptr) Arena::deallocate(memory_, bytes_for(capacity_));
  memory_ = nullptr;
  capacity_ = size_ = 0;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void CachedFrameChain::forget_outer_half() noexcept {
  const std::size_t gone = (size_ + 1) / 2;
  const std::size_t gone_words = words_begin(gone);
  const std::size_t kept = size_ - gone;
  const std::size_t kept_words = words_begin(size_) - gone_words;
  std::memmove(static_cast<void*>(words_), words_ + gone_words, kept_words * sizeof(StackWord));
  std::memmove(static_cast<void*>(hashes_), hashes_ + gone, kept * sizeof(StackHash));
  std::memmove(static_cast<void*>(frames_), frames_ + gone, kept * sizeof(Frame));
  for (std::size_t i = 0; i < kept; ++i) {
    frames_[i].words_end -= static_cast<std::uint32_t>(gone_words);
  }
  size_ = kept;
  end_ = ChainEnd::kCut;
  end_frame().words_end = 0;
}

ALLOCTAP_INLINE void StackChain::move_to(const os::StackBounds& stack) noexcept {
  bounds = stack;
  chain.cut_to(0);
  serial = next_serial();
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool StackChain::restart(std::size_t frames,
                                                           const void* wanted_rules,
                                                           std::uint64_t wanted_epoch) noexcept {
  if (chain.capacity() < frames && !chain.reserve(frames)) return false;
  chain.cut_to(0);
  rules = wanted_rules;
  epoch = wanted_epoch;
  serial = next_serial();
  return true;
}

}  // namespace alloctap
