/// A chain and the stack that it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/stack/verified_chain.hpp"

namespace alloctap {

/// What is remembered of one stack: a thread's own, or a fiber's. Used by one thread at a time.
struct StackChain {
  os::StackBounds bounds;
  VerifiedChain chain;
  /// Under which rules the chain was made, and in which of their epochs.
  const void* rules = nullptr;
  std::uint64_t epoch = 0;

  /// Makes the chain fit for captures of `most_frames` by these rules; empty, if it was not. False
  /// where the system has no memory.
  [[nodiscard]] bool prepare(std::size_t most_frames, const void* wanted_rules,
                             std::uint64_t wanted_epoch) noexcept {
    const std::size_t frames = 2 * (most_frames + 1);
    if (chain.capacity() < frames && !chain.reserve(frames)) return false;
    if (rules == wanted_rules && epoch == wanted_epoch) return true;
    chain.cut_to(0);
    rules = wanted_rules;
    epoch = wanted_epoch;
    return true;
  }

  /// For another stack.
  void move_to(const os::StackBounds& stack) noexcept {
    bounds = stack;
    chain.cut_to(0);
  }
};

}  // namespace alloctap
