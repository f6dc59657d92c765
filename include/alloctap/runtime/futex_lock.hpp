/// A one-word futex mutex, single flight (one thread works, later ones wait), the control lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/os/futex.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// A mutex that spins briefly, then sleeps (Drepper, "Futexes Are Tricky", 2011, section 5). May be
/// acquired inside malloc. Works with std::lock_guard; not recursive. While a thread holds the
/// lock, its `inside_tracker()` is true. Constant-initialized, never destroyed.
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

  /// Acquires the lock. Returns false if it is not free within `nanoseconds`.
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

/// Temporarily releases a lock that this thread acquired before it stopped the world, so that
/// functions that this thread calls can acquire the lock. Does not wake waiters, because waking
/// takes a system lock; the thread's final unlock wakes the waiters.
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

/// Lets one thread at a time do some work; other threads skip the work and can wait until the work
/// ends. Not a lock: data that the work accesses needs its own lock. May be used inside malloc. May
/// change errno. Constant-initialized, never destroyed.
class SingleFlight {
 public:
  constexpr SingleFlight() noexcept = default;
  SingleFlight(const SingleFlight&) = delete;
  SingleFlight& operator=(const SingleFlight&) = delete;

  /// Returns true if this thread must do the work, then call `end()`; false if another thread does.
  [[nodiscard]] bool try_begin() noexcept {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kTaken, std::memory_order_relaxed);
  }

  void end() noexcept {
    if (word_.exchange(kFree, std::memory_order_relaxed) == kAwaited) os::futex_wake_all(word_);
  }

  /// Blocks until the current work ends or `nanoseconds` have passed. May return early.
  void await_end(std::int64_t nanoseconds) noexcept;

  /// Resets the word in the child of a fork, which lacks the thread that did the work.
  void after_fork() noexcept { word_.store(kFree, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kAwaited = 2;

  std::atomic<std::uint32_t> word_{kFree};
};

using ControlLock = FutexLock;

/// Serializes start, stop, snapshot and dump. Acquired before every other lock of the tracker.
/// Hooks acquire it only by `try_lock`.
inline constinit ControlLock control_lock;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/futex_lock.hpp"
#endif
