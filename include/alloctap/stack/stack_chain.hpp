/// A stack with its chain of cached frames.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/stack/cached_frame_chain.hpp"

namespace alloctap {

/// The cached frames of one stack: a thread's own, or a fiber's. Used by one thread at a time.
struct StackChain {
  os::StackBounds bounds;
  CachedFrameChain chain;
  /// Identify the rules that found the cached frames, and the epoch in which the rules were valid.
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
#include "alloctap/stack/impl/stack_chain.hpp"
#endif
