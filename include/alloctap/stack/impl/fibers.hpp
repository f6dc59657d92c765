/// Definitions for stack/fibers.hpp.
#pragma once

#include <mutex>
#include <new>

#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/fibers.hpp"

namespace alloctap {

ALLOCTAP_INLINE void* Fibers::add(const void* stack, std::size_t bytes) noexcept {
  static_cast<void>(ForkHandlers::ensure_registered());
  void* const memory = Arena::allocate(sizeof(Fiber));
  if (memory == nullptr) return nullptr;
  auto* const fiber = ::new (memory) Fiber;
  fiber->chain.bounds = {.low = reinterpret_cast<std::uintptr_t>(stack),
                         .high = reinterpret_cast<std::uintptr_t>(stack) + bytes};
  // Fork waits for this scope, so the child never inherits a held lock.
  const RecordingScope section;
  const std::lock_guard hold(lock_);
  fiber->number = first_number() + ++added_;
  numbered_.get().insert(*fiber);
  fiber->is_first = fibers_.get().insert(*fiber).second;
  version_.fetch_add(1, std::memory_order_release);
  return reinterpret_cast<void*>(fiber->number);
}

ALLOCTAP_INLINE void Fibers::remove(void* added) noexcept {
  Fiber* fiber = nullptr;
  {
    const RecordingScope section;
    const std::lock_guard hold(lock_);
    const auto found = numbered_.get().find(reinterpret_cast<std::uintptr_t>(added), ByNumber{});
    if (found == numbered_.get().end()) return;
    fiber = &*found;
    numbered_.get().erase(found);
    if (fiber->is_first) fibers_.get().erase(fibers_.get().iterator_to(*fiber));
    version_.fetch_add(1, std::memory_order_release);
    fiber->chain.chain.release();
  }
  fiber->~Fiber();
  Arena::deallocate(fiber, sizeof(Fiber));
}

ALLOCTAP_INLINE StackChain* Fibers::find(std::uintptr_t address) noexcept {
  const std::lock_guard hold(lock_);
  auto after = fibers_.get().upper_bound(address, ByLowestAddress{});
  if (after == fibers_.get().begin()) return nullptr;
  Fiber& below = *--after;
  return below.chain.bounds.contains(address) ? &below.chain : nullptr;
}

}  // namespace alloctap
