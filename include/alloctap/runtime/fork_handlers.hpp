/// The pthread_atfork handlers, and the scope that holds the control lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// The lock that guards the registration of the fork handlers. A child may inherit the lock held by
/// a thread that the child lacks. So the lock stores its holder's process id, and a child may
/// acquire it if the parent holds it. Counts as a lock of the tracker.
class ForkRegistrationLock {
 public:
  void lock() noexcept;
  void unlock() noexcept;

 private:
  /// The process id of the holder; 0 if the lock is free.
  std::atomic<std::uint32_t> holder_{0};
};

/// The process's fork handlers, which leave every table consistent and every lock free in the
/// child. Before a fork they acquire the control lock, stop the world, then lock the thread list,
/// the arena and the list of its regions. A stopped world implies that all other locks are free.
class ForkHandlers {
 public:
  using ChildCallback = void (*)() noexcept;

  /// Registers the handlers once. Call it before the first use of any lock that the handlers
  /// acquire, or that threads acquire inside a `RecordingScope`; otherwise a child may inherit a
  /// held lock. Returns false if out of memory. May call malloc, so never call it inside a hook.
  static bool ensure_registered() noexcept {
    return is_registered_.load(std::memory_order_acquire) || register_once();
  }

  /// Registers the handlers if needed and adds `in_child`. The child calls `in_child` before any
  /// hook records, with only the control lock held. Returns false if out of memory or if
  /// `kMaxCallbacks` functions are registered.
  [[nodiscard]] static bool install(ChildCallback in_child) noexcept;

 private:
  static constexpr std::size_t kMaxCallbacks = 128;

  static bool register_once() noexcept;

  static bool register_locked() noexcept;

  /// Skips the control lock if this thread holds a tracker lock, as when a dump's output forks.
  static void prepare();

  static void in_parent();

  static void in_child_process();

  static void leave_control() noexcept {
    if (!had_control_) control_lock.unlock();
    guard_depth(-1);
  }

  /// Changes the re-entrancy depth, so that allocations by libc during a fork are not recorded.
  static void guard_depth(int change) noexcept { this_thread_slot().depth.fetch_add(change); }

  static inline constinit ForkRegistrationLock lock_;
  static inline constinit std::atomic<bool> is_registered_{false};
  static inline constinit std::array<ChildCallback, kMaxCallbacks> callbacks_{};
  static inline constinit std::size_t count_ = 0;
  /// Whether the forking thread held the control lock before the fork. Guarded by the control lock.
  static inline constinit bool had_control_ = false;
};

/// A scope guard that holds the control lock. The program's code, such as a dump's output, may run
/// inside the scope. `defer` accepts work that would deadlock inside the scope; the destructor runs
/// that work after it has released the lock. Control plane.
class ControlScope {
 public:
  /// A deferrable function and its list link. Must not be deferred while pending. Never destroyed.
  struct Deferred {
    void (*run)() noexcept;
    Deferred* next = nullptr;
  };

  ControlScope() noexcept {
    static_cast<void>(ForkHandlers::ensure_registered());
    control_lock.lock();
  }
  ControlScope(const ControlScope&) = delete;
  ControlScope& operator=(const ControlScope&) = delete;
  ~ControlScope() {
    Deferred* work = deferred_.exchange(nullptr, std::memory_order_acquire);
    control_lock.unlock();
    while (work != nullptr) {
      Deferred& one = *work;
      // `one.run` may defer `one` again and so overwrite `next`; therefore `next` is read first.
      work = one.next;
      one.run();
    }
  }

  /// Schedules `work` for when the control lock is next released. Lock-free.
  static void defer(Deferred& work) noexcept {
    work.next = deferred_.load(std::memory_order_relaxed);
    while (!deferred_.compare_exchange_weak(work.next, &work, std::memory_order_release)) {
    }
  }

 private:
  static inline constinit std::atomic<Deferred*> deferred_{nullptr};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/fork_handlers.hpp"
#endif
