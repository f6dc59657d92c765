/// What a thread remembers of its captures.
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

/// For `ChainCapture<Rules>`. Belongs to one thread; runs inside malloc.
template <class Rules>
struct ChainMemory {
  /// Where the frames of the last capture are.
  enum class Found : std::uint8_t {
    kInThreadState,
    kInChain,
    /// Nowhere yet: the stack is known to be one that was captured before.
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
  /// The last one, where it was not found in the thread's state.
  Capture current;
  CopiedStack copy;

  /// Field by field, or else GCC packs two into a vector for one store, and who looks at one
  /// waits for it to come back from memory.
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

  /// For a walk of what is captured now. False where the system has no memory.
  [[nodiscard]] bool make_room() noexcept {
    const std::size_t frames = ChainWalk<Rules>::walked_frames_for(current.max_frames);
    return walked.capacity() >= frames || walked.reserve(frames);
  }
};

}  // namespace alloctap
