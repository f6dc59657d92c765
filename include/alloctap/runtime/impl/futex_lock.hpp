/// Definitions for runtime/futex_lock.hpp.
#pragma once

#include "alloctap/arch/instructions.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool FutexLock::try_lock_for(std::int64_t nanoseconds) noexcept {
  this_thread_slot().enter_critical();
  if (take_if_free()) return true;
  const std::int64_t end = os::monotonic_ns() + nanoseconds;
  // A thread that times out leaves `kHeldAndAwaited`, so one unlock makes a needless wake call.
  while (word_.exchange(kHeldAndAwaited, std::memory_order_acquire) != kFree) {
    const std::int64_t left = end - os::monotonic_ns();
    if (left <= 0) {
      this_thread_slot().leave_critical();
      return false;
    }
    os::futex_wait(word_, kHeldAndAwaited, left);
  }
  return true;
}

ALLOCTAP_INLINE void FutexLock::lock_contended() noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (word_.load(std::memory_order_relaxed) == kFree && take_if_free()) return;
    arch::pause();
  }
  while (word_.exchange(kHeldAndAwaited, std::memory_order_acquire) != kFree) {
    os::futex_wait(word_, kHeldAndAwaited);
  }
}

ALLOCTAP_INLINE void SingleFlight::await_end(std::int64_t nanoseconds) noexcept {
  std::uint32_t state = kTaken;
  const bool is_on = word_.compare_exchange_strong(state, kAwaited, std::memory_order_relaxed) ||
                     state == kAwaited;
  if (is_on) os::futex_wait(word_, kAwaited, nanoseconds);
}

}  // namespace alloctap
