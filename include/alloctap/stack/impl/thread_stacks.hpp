/// Definitions for stack/thread_stacks.hpp.
#pragma once

#include "alloctap/stack/thread_stacks.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE StackChain* ThreadStacks::find_uncached(
    const ThreadState& thread, std::uintptr_t address) noexcept {
  if (generation_ != thread.generation) {
    generation_ = thread.generation;
    own_.move_to({});
    foreign_ = {};
  }
  // Reads the version first, so that the next call searches again if fibers change meanwhile.
  version_ = Fibers::version();
  if (is_there(own_) && own_.bounds.contains(address)) return current_ = &own_;
  StackChain* found = Fibers::find(address);
  if (found == nullptr && !foreign_.contains(address)) found = find_in_map(address);
  if (found != nullptr) current_ = found;
  return found;
}

ALLOCTAP_INLINE StackChain* ThreadStacks::find_in_map(std::uintptr_t address) noexcept {
  if (os::threads_are_confined.load(std::memory_order_relaxed)) return nullptr;
  os::StackBounds bounds = os::find_stack_bounds(address);
  const bool main_stack = bounds.contains(os::initial_stack_pointer());
  if (!main_stack && !bounds.contains(os::thread_pointer())) {
    foreign_ = bounds;
    return nullptr;
  }
  if (main_stack) {
    // The main stack grows downwards, into a gap that the kernel keeps larger than `kGrowth`.
    constexpr std::uintptr_t kGrowth = 256 * 1024;
    bounds.low -= kGrowth;
  } else {
    bounds.high = os::thread_pointer();
  }
  if (own_.bounds.high == bounds.high) {
    own_.bounds = bounds;
  } else {
    own_.move_to(bounds);
  }
  return &own_;
}

}  // namespace alloctap
