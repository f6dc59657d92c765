/// Carries the tracker across fork: the child's copy of every table is whole and every lock free.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// One registration per process; a fixed order, outermost first: control plane, gate, thread list,
/// arena. With the gate closed no thread holds the lock of any table.
class ForkHandlers {
 public:
  using ChildCallback = void (*)() noexcept;

  /// Registers on the first call and remembers `in_child`, which runs in the child once the guard
  /// layer is whole again, with the control lock held and before any hook records. False where the
  /// system or the fixed room for callbacks is used up.
  [[nodiscard]] static bool install(ChildCallback in_child) noexcept;

 private:
  static constexpr std::size_t kMaxCallbacks = 128;

  /// An output of a dump may fork: its thread has the control plane already.
  static void prepare();

  static void in_parent();

  static void in_child_process();

  static void leave_control() noexcept {
    if (!had_control_) control_lock.unlock();
    guard_depth(-1);
  }

  /// Between the handlers only libc runs, and what it allocates is not the program's.
  static void guard_depth(int change) noexcept { this_thread_slot().depth.fetch_add(change); }

  static inline constinit FutexLock lock_;
  static inline constinit std::array<ChildCallback, kMaxCallbacks> callbacks_{};
  static inline constinit std::size_t count_ = 0;
  /// Behind the control lock.
  static inline constinit bool had_control_ = false;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/fork_handlers.hpp"
#endif
