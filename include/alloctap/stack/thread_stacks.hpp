/// Which stack a thread is on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/fibers.hpp"
#include "alloctap/stack/stack_chain.hpp"

namespace alloctap {

/// A thread's own stack, and where else it has been. Belongs to one thread; runs inside malloc.
class ThreadStacks {
 public:
  ThreadStacks() noexcept = default;
  ThreadStacks(const ThreadStacks&) = delete;
  ThreadStacks& operator=(const ThreadStacks&) = delete;

  /// What is remembered of the stack that `address` is on: the thread's own or a registered
  /// fiber's. nullptr elsewhere: a signal's stack, or a fiber that nobody told of, whose memory may
  /// vanish at any time.
  [[nodiscard]] StackChain* find(const ThreadState& thread, std::uintptr_t address) noexcept {
    StackChain* const again = find_again(thread, address);
    return again != nullptr ? again : find_uncached(thread, address);
  }

  /// The same if it is what was found last; else nullptr.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE StackChain* find_again(
      const ThreadState& thread, std::uintptr_t address) const noexcept {
    StackChain* const latest = find_latest(thread);
    return latest != nullptr && latest->bounds.contains(address) ? latest : nullptr;
  }

  /// What was found last, if that is still there; else nullptr. For who knows which addresses are
  /// on it.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE StackChain* find_latest(
      const ThreadState& thread) const noexcept {
    const bool known = generation_ == thread.generation && version_ == Fibers::version();
    return known && is_there(*current_) ? current_ : nullptr;
  }

  /// The mapping around an address of which `find` just returned nullptr; empty where the system
  /// does not tell.
  [[nodiscard]] const os::StackBounds& foreign_bounds() const noexcept { return foreign_; }

 private:
  /// Where a thread can leave its own stack for a fiber's, and that one be gone, another may begin
  /// amid the place where it was: it ends elsewhere.
  [[nodiscard]] bool is_there(const StackChain& stack) const noexcept {
    return !os::kThreadPointerFollowsStack || &stack != &own_ ||
           stack.bounds.high == os::thread_pointer();
  }

  StackChain* find_uncached(const ThreadState& thread, std::uintptr_t address) noexcept;

  StackChain* look_at_map(std::uintptr_t address) noexcept;

  StackChain own_;
  /// What was found last.
  StackChain* current_ = &own_;
  /// Where the thread has been that is neither.
  os::StackBounds foreign_;
  std::uint64_t version_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/thread_stacks.hpp"
#endif
