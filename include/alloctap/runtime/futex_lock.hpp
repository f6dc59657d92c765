/// A one-word lock that may be taken inside malloc.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/os/futex.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Spins for a moment, then sleeps in the kernel. Constant-initialized, never destroyed, not
/// recursive. Works with std::lock_guard. While a thread holds one, `inside_tracker()` is true
/// there. The three-state protocol is that of Drepper, "Futexes Are Tricky", 2011, section 5.
class FutexLock {
 public:
  constexpr FutexLock() noexcept = default;
  FutexLock(const FutexLock&) = delete;
  FutexLock& operator=(const FutexLock&) = delete;

  [[nodiscard]] bool try_lock() noexcept {
    this_thread_slot().enter_critical();
    const bool locked = take_if_free();
    if (!locked) this_thread_slot().leave_critical();
    return locked;
  }

  void lock() noexcept {
    this_thread_slot().enter_critical();
    if (!take_if_free()) lock_contended();
  }

  /// False where it is not free within `nanoseconds`.
  [[nodiscard]] bool try_lock_for(std::int64_t nanoseconds) noexcept;

  void unlock() noexcept {
    if (word_.exchange(kFree, std::memory_order_release) == kHeldAndAwaited) {
      os::futex_wake_one(word_);
    }
    this_thread_slot().leave_critical();
  }

 private:
  friend class ScopedUnlock;

  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kHeldAndAwaited = 2;
  static constexpr int kSpins = 100;

  bool take_if_free() noexcept {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void lock_contended() noexcept;

  std::atomic<std::uint32_t> word_{kFree};
};

/// The time in which a lock that its holder took before all other threads were stopped is free for
/// what the holder calls. Who waits for it is not woken, because that would take a lock of the
/// system's, and is woken as ever when the holder gives it back.
class ScopedUnlock {
 public:
  explicit ScopedUnlock(FutexLock& lock) noexcept
      : lock_(lock), word_(lock.word_.exchange(FutexLock::kFree, std::memory_order_relaxed)) {}
  ~ScopedUnlock() { lock_.word_.store(word_, std::memory_order_relaxed); }
  ScopedUnlock(const ScopedUnlock&) = delete;
  ScopedUnlock& operator=(const ScopedUnlock&) = delete;

 private:
  FutexLock& lock_;
  std::uint32_t word_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/futex_lock.hpp"
#endif
