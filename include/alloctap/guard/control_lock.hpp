/// The lock of the control plane.
#pragma once

#include "alloctap/guard/futex_lock.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"

namespace alloctap {

/// Serializes start, stop, snapshot and dump. Taken before every other lock of the tracker, never
/// inside a hook. While a thread holds it, `inside_tracker()` is true there.
class ControlLock {
 public:
  constexpr ControlLock() noexcept = default;

  void lock() noexcept {
    this_thread_slot.critical.fetch_add(1, std::memory_order_relaxed);
    lock_.lock();
  }

  void unlock() noexcept {
    lock_.unlock();
    this_thread_slot.critical.fetch_sub(1, std::memory_order_relaxed);
  }

  /// In the child of a fork, which its forking thread holds: free.
  void unlock_in_child() noexcept {
    lock_.reset();
    this_thread_slot.critical.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  FutexLock lock_;
};

inline constinit ControlLock control_lock;

}  // namespace alloctap
