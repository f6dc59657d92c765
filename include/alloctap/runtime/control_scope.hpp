/// A scope guard that holds the control lock, and work deferred until that lock is released.
#pragma once

#include <atomic>

#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/fork_handlers.hpp"

namespace alloctap {

/// A scope guard that holds the control lock. The program's code, such as a dump's output, may run
/// inside the scope. `defer` accepts work that would deadlock inside the scope; the destructor runs
/// that work after it has released the lock. Control plane.
class ControlScope {
 public:
  /// A deferrable function and its list link. May be pending only once at a time. Never destroyed.
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
