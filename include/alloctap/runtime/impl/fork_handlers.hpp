/// The bodies of runtime/fork_handlers.hpp.
#pragma once

#include <cstddef>
#include <mutex>

#include "alloctap/macros.hpp"
#include "alloctap/os/fork.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_regions.hpp"
#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool ForkHandlers::install(ChildCallback in_child) noexcept {
  const std::lock_guard hold(lock_);
  for (std::size_t i = 0; i < count_; ++i) {
    if (callbacks_[i] == in_child) return true;
  }
  if (count_ == callbacks_.size()) return false;
  if (count_ == 0 && !os::register_fork_handlers(&prepare, &in_parent, &in_child_process)) {
    return false;
  }
  callbacks_[count_++] = in_child;
  return true;
}

ALLOCTAP_INLINE void ForkHandlers::prepare() {
  guard_depth(+1);
  const bool has_control = holds_tracker_lock();
  if (!has_control) control_lock.lock();
  had_control_ = has_control;
  static_cast<void>(ThreadStates::close_gate());
  ThreadStates::lock().lock();
  Arena::lock().lock();
  ArenaRegions::lock().lock();
}

ALLOCTAP_INLINE void ForkHandlers::in_parent() {
  ArenaRegions::lock().unlock();
  Arena::lock().unlock();
  ThreadStates::lock().unlock();
  ThreadStates::open_gate();
  leave_control();
}

ALLOCTAP_INLINE void ForkHandlers::in_child_process() {
  ArenaRegions::lock().unlock();
  Arena::lock().unlock();
  ThreadStates::keep_only_mine();
  ThreadStates::lock().unlock();
  WorldGate::reset();
  WorldGate::initialize();
  for (std::size_t i = 0; i < count_; ++i) callbacks_[i]();
  leave_control();
}

}  // namespace alloctap
