/// A chain and the stack that it belongs to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/stack/cached_frame_chain.hpp"

namespace alloctap {

/// What is remembered of one stack: a thread's own, or a fiber's. Used by one thread at a time.
struct StackChain {
  os::StackBounds bounds;
  CachedFrameChain chain;
  /// Under which rules the chain was made, and in which of their epochs.
  const void* rules = nullptr;
  std::uint64_t epoch = 0;
  /// Never the same for another stack, other rules or another epoch.
  std::uint64_t serial = 0;

  /// Makes the chain fit for `frames` frames by these rules; empty, if it was not. False where the
  /// system has no memory.
  [[nodiscard]] bool prepare(std::size_t frames, const void* wanted_rules,
                             std::uint64_t wanted_epoch) noexcept {
    return is_prepared(frames, wanted_rules, wanted_epoch) ||
           restart(frames, wanted_rules, wanted_epoch);
  }

  /// Whether there is nothing to prepare.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool is_prepared(std::size_t frames,
                                                        const void* wanted_rules,
                                                        std::uint64_t wanted_epoch) const noexcept {
    return chain.capacity() >= frames && rules == wanted_rules && epoch == wanted_epoch;
  }

  /// For another stack.
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
#include "alloctap/stack/impl/stack_chain.hpp"
#endif
