/// A scope that holds the control lock, and work that waits until the lock is free.
#pragma once

#include <atomic>

#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/fork_handlers.hpp"

namespace alloctap {

/// A scope guard that holds the control lock. Code of the program may run inside, such as a dump's
/// output. What it cannot do there without a deadlock, it defers: the destructor does it after it
/// has released the lock. Control plane.
class ControlScope {
 public:
  /// Work of one kind, which is deferred at most once at a time. Never destroyed.
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
      // Afterwards `one` may be deferred again.
      work = one.next;
      one.run();
    }
  }

  /// Lets the holder of the control lock run `work` when it has released the lock. Lock-free.
  static void defer(Deferred& work) noexcept {
    work.next = deferred_.load(std::memory_order_relaxed);
    while (!deferred_.compare_exchange_weak(work.next, &work, std::memory_order_release)) {
    }
  }

 private:
  static inline constinit std::atomic<Deferred*> deferred_{nullptr};
};

}  // namespace alloctap
