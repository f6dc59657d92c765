/// Definitions for runtime/fork_handlers.hpp.
#pragma once

#include <mutex>

#include "alloctap/macros.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

ALLOCTAP_INLINE void ForkRegistrationLock::lock() noexcept {
  constexpr std::int64_t kPauseNs = 100'000;
  this_thread_slot().enter_critical();
  const auto mine = static_cast<std::uint32_t>(os::current_process_id());
  std::uint32_t holder = 0;
  while (!holder_.compare_exchange_weak(holder, mine, std::memory_order_acquire)) {
    if (holder != mine) continue;
    os::futex_wait(holder_, mine, kPauseNs);
    holder = 0;
  }
}

ALLOCTAP_INLINE void ForkRegistrationLock::unlock() noexcept {
  holder_.store(0, std::memory_order_release);
  this_thread_slot().leave_critical();
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool ForkHandlers::register_once() noexcept {
  const os::ErrnoGuard preserve_error;
  const ReentrancyGuard guard;
  const std::lock_guard hold(lock_);
  return register_locked();
}

ALLOCTAP_INLINE bool ForkHandlers::register_locked() noexcept {
  if (is_registered_.load(std::memory_order_relaxed)) return true;
  if (!os::register_fork_handlers(&prepare, &in_parent, &in_child_process)) return false;
  is_registered_.store(true, std::memory_order_release);
  return true;
}

ALLOCTAP_INLINE bool ForkHandlers::install(ChildCallback in_child) noexcept {
  const std::lock_guard hold(lock_);
  for (std::size_t i = 0; i < count_; ++i) {
    if (callbacks_[i] == in_child) return true;
  }
  if (count_ == callbacks_.size() || !register_locked()) return false;
  callbacks_[count_++] = in_child;
  return true;
}

ALLOCTAP_INLINE void ForkHandlers::prepare() {
  guard_depth(+1);
  const bool has_control = holds_tracker_lock();
  if (!has_control) control_lock.lock();
  had_control_ = has_control;
  static_cast<void>(ThreadStates::stop_world());
  ThreadStates::lock().lock();
  Arena::lock().lock();
  ArenaRegions::lock().lock();
}

ALLOCTAP_INLINE void ForkHandlers::in_parent() {
  ArenaRegions::lock().unlock();
  Arena::lock().unlock();
  ThreadStates::lock().unlock();
  ThreadStates::resume_world();
  leave_control();
}

ALLOCTAP_INLINE void ForkHandlers::in_child_process() {
  ArenaRegions::lock().unlock();
  Arena::lock().unlock();
  ThreadStates::keep_only_mine();
  ThreadStates::lock().unlock();
  // The fork may have happened after the registration but before this flag was set.
  is_registered_.store(true, std::memory_order_release);
  WorldGate::reset();
  WorldGate::initialize();
  for (std::size_t i = 0; i < count_; ++i) callbacks_[i]();
  leave_control();
}

}  // namespace alloctap
