/// pthread_atfork handlers: in the child every table is consistent and every lock is free.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// The lock of `ForkHandlers`, which no handler can release in a child yet. It stores the process
/// of its holder, so that a child takes it over from a thread that it does not have. Counts as a
/// lock of the tracker.
class ForkRegistrationLock {
 public:
  void lock() noexcept;
  void unlock() noexcept;

 private:
  /// 0 if free.
  std::atomic<std::uint32_t> holder_{0};
};

/// One registration per process. Locks in a fixed order: control lock, stop the world, thread list,
/// arena. While the world is stopped no thread holds the lock of any other table.
class ForkHandlers {
 public:
  using ChildCallback = void (*)() noexcept;

  /// Registers the handlers, once. Must precede the first acquisition of a lock that they acquire,
  /// and of any lock in a `RecordingScope`: a child would find a lock held that another thread of
  /// its parent had. Returns false if out of memory. May call malloc, so never inside a hook.
  static bool ensure_registered() noexcept {
    return is_registered_.load(std::memory_order_acquire) || register_once();
  }

  /// Ensures the registration and remembers `in_child`. The child calls it with its locks released,
  /// except for the control lock, before any hook records. Returns false if out of memory or if
  /// `kMaxCallbacks` are registered.
  [[nodiscard]] static bool install(ChildCallback in_child) noexcept;

 private:
  static constexpr std::size_t kMaxCallbacks = 128;

  static bool register_once() noexcept;

  static bool register_locked() noexcept;

  /// Does not acquire the control lock if this thread holds it: a dump's output may fork.
  static void prepare();

  static void in_parent();

  static void in_child_process();

  static void leave_control() noexcept {
    if (!had_control_) control_lock.unlock();
    guard_depth(-1);
  }

  /// Excludes from recording what libc allocates between the handlers.
  static void guard_depth(int change) noexcept { this_thread_slot().depth.fetch_add(change); }

  static inline constinit ForkRegistrationLock lock_;
  static inline constinit std::atomic<bool> is_registered_{false};
  static inline constinit std::array<ChildCallback, kMaxCallbacks> callbacks_{};
  static inline constinit std::size_t count_ = 0;
  /// Guarded by the control lock.
  static inline constinit bool had_control_ = false;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/fork_handlers.hpp"
#endif
