/// A per-thread map from stack pointers to the stacks that a thread runs on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/cached_frame_chain.hpp"
#include "alloctap/stack/fibers.hpp"

namespace alloctap {

/// A per-thread look-up of the stack that contains an address. It caches the thread's own stack and
/// the last stack found. Belongs to one thread; runs inside malloc.
class ThreadStacks {
 public:
  ThreadStacks() noexcept = default;
  ThreadStacks(const ThreadStacks&) = delete;
  ThreadStacks& operator=(const ThreadStacks&) = delete;

  /// Returns the thread's own stack or the registered fiber's stack that contains `address`.
  /// Returns nullptr for other stacks (signal stacks, unregistered fibers), because their memory
  /// may be unmapped at any time.
  [[nodiscard]] StackChain* find(const ThreadState& thread, std::uintptr_t address) noexcept {
    StackChain* const again = find_again(thread, address);
    return again != nullptr ? again : find_uncached(thread, address);
  }

  /// Returns the stack that `find` returned last if that stack contains `address`; otherwise
  /// nullptr.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE StackChain* find_again(
      const ThreadState& thread, std::uintptr_t address) const noexcept {
    StackChain* const latest = find_latest(thread);
    return latest != nullptr && latest->bounds.contains(address) ? latest : nullptr;
  }

  /// Returns the stack that `find` returned last if that stack still exists; otherwise nullptr. The
  /// caller must check that the stack contains the caller's stack pointer.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE StackChain* find_latest(
      const ThreadState& thread) const noexcept {
    const bool known = generation_ == thread.generation && version_ == Fibers::version();
    return known && is_there(*current_) ? current_ : nullptr;
  }

  /// Returns the mapping that contains the address for which `find` just returned nullptr. The
  /// range is empty if unknown.
  [[nodiscard]] const os::StackBounds& foreign_bounds() const noexcept { return foreign_; }

 private:
  /// Returns whether `stack` still exists. A Windows thread may switch from its own stack to a
  /// fiber's. If its own stack is then freed, a stack with another end may reuse the addresses.
  [[nodiscard]] bool is_there(const StackChain& stack) const noexcept {
    return !os::kThreadPointerFollowsStack || &stack != &own_ ||
           stack.bounds.high == os::thread_pointer();
  }

  StackChain* find_uncached(const ThreadState& thread, std::uintptr_t address) noexcept;

  StackChain* find_in_map(std::uintptr_t address) noexcept;

  StackChain own_;
  /// The last stack found.
  StackChain* current_ = &own_;
  /// The last mapping found that is neither the thread's own stack nor a fiber's.
  os::StackBounds foreign_;
  std::uint64_t version_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/thread_stacks.hpp"
#endif
