/// The per-thread state of `ChainCapture`: frame chains, stack cache, buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/stack/chain_walk.hpp"
#include "alloctap/stack/stack_cache.hpp"
#include "alloctap/stack/stack_chain.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/thread_stacks.hpp"
#include "alloctap/stack/unwind_buffer.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// A thread's caches and buffers for `ChainCapture<Rules>`. Belongs to one thread; runs inside
/// malloc.
template <class Rules>
struct ChainMemory {
  /// Which buffer has the frames of the last capture.
  enum class Found : std::uint8_t {
    kInThreadState,
    kInChain,
    /// No buffer, because the stack cache recognized the stack without a walk.
    kByMemo,
  };

  struct Capture {
    StackChain* stack = nullptr;
    UnwindFrame leaf;
    std::uint32_t max_frames = 0;
  };

  ThreadStacks stacks;
  StackCache memo;
  [[no_unique_address]] typename Rules::Cache rules;
  UnwindBuffer walked;
  Found found = Found::kInThreadState;
  /// The last capture, unless `found` is `kInThreadState`.
  Capture current;
  CopiedStack copy;

  /// Sets `current`. Keeps GCC from merging two stores into a vector store, because a scalar load
  /// of one field would then stall.
  ALLOCTAP_ALWAYS_INLINE void begin(StackChain& stack, const UnwindFrame& leaf,
                                    std::uint32_t max_frames) noexcept {
    current.leaf.pc = leaf.pc;
    std::atomic_signal_fence(std::memory_order_release);
    current.leaf.sp = leaf.sp;
    std::atomic_signal_fence(std::memory_order_release);
    current.leaf.fp = leaf.fp;
    current.stack = &stack;
    current.max_frames = max_frames;
  }

  /// Allocates buffers for a walk of the current capture. Returns false if out of memory.
  [[nodiscard]] bool make_room() noexcept {
    const std::size_t frames = ChainWalk<Rules>::walked_frames_for(current.max_frames);
    return walked.capacity() >= frames || walked.reserve(frames);
  }
};

}  // namespace alloctap
