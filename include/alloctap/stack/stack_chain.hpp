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
  /// Identify the unwind rules of the chain, and their epoch.
  const void* rules = nullptr;
  std::uint64_t epoch = 0;
  /// Unique to this stack, its rules and its epoch; changes with each of them.
  std::uint64_t serial = 0;

  /// Gives the chain room for `frames` frames by `wanted_rules`; empties it if it was not prepared
  /// so. Returns false if out of memory.
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

  /// Switches to another stack and empties the chain.
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
