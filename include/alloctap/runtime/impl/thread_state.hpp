/// Definitions for runtime/thread_state.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <new>

#include "alloctap/arch/instructions.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool WorldGate::wait_for(const Flag& recording, std::int64_t timeout_ns) noexcept {
  if (recording.load(std::memory_order_seq_cst) == 0) return true;
  const std::int64_t give_up = os::monotonic_ns() + timeout_ns;
  for (int round = 0; recording.load(std::memory_order_seq_cst) != 0; ++round) {
    arch::pause();
    if (round % 1024 != 1023) continue;
    if (os::monotonic_ns() > give_up) return false;
    os::futex_wait(word_, word_.load(std::memory_order_relaxed), kBackoffNs);
  }
  return true;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void WorldGate::enter_slow(Flag& recording) noexcept {
  for (;;) {
    recording.store(1, std::memory_order_seq_cst);
    if ((word_.load(std::memory_order_seq_cst) & (kClosed | kHalted)) == 0) return;
    recording.store(0, std::memory_order_release);
    wait_while(kClosed | kHalted);
  }
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void WorldGate::wait_while(std::uint32_t bits) noexcept {
  for (auto word = word_.load(std::memory_order_acquire); (word & bits) != 0;
       word = word_.load(std::memory_order_acquire)) {
    if (word_.compare_exchange_strong(word, word | kAwaited, std::memory_order_relaxed)) {
      os::futex_wait(word_, word | kAwaited);
    }
  }
}

ALLOCTAP_INLINE bool ThreadStates::stop_world(std::int64_t timeout_ns) noexcept {
  WorldGate::close();
  // A thread that must first create its state blocks on this lock, then finds the world stopped.
  const std::lock_guard hold(lock_);
  const ThreadState* mine = this_thread_slot().state;
  const auto is_other = [mine](const ThreadState& state) { return &state != mine; };
  const List& live = live_.get();
  if (std::any_of(live.begin(), live.end(), is_other)) WorldGate::synchronize();
  const bool others_outside = std::all_of(live.begin(), live.end(), [&](const ThreadState& state) {
    return !is_other(state) || WorldGate::wait_for(state.recording, timeout_ns);
  });
  return others_outside && !section_abandoned_.load(std::memory_order_relaxed) &&
         (mine == nullptr || mine->recording.load(std::memory_order_relaxed) == 0);
}

ALLOCTAP_INLINE void ThreadStates::abandon_section() noexcept {
  ThreadState* state = this_thread_slot().state;
  if (state == nullptr || state->recording.load(std::memory_order_relaxed) == 0) return;
  section_abandoned_.store(true, std::memory_order_relaxed);
  state->recording.store(0, std::memory_order_release);
}

ALLOCTAP_INLINE void ThreadStates::keep_only_mine() noexcept {
  List& live = live_.get();
  live.clear_and_dispose([](ThreadState* state) {
    if (state != this_thread_slot().state) spare_.get().push_back(*state);
  });
  count_ = 0;
  next_sweep_ = kFirstSweep;
  section_abandoned_.store(false, std::memory_order_relaxed);
  if (this_thread_slot().state != nullptr) adopt(*this_thread_slot().state);
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE ThreadState* ThreadStates::create() noexcept {
  const os::ErrnoGuard preserve_error;
  this_thread_slot().enter_critical();
  this_thread_slot().state = make_or_reuse();
  this_thread_slot().leave_critical();
  return this_thread_slot().state;
}

ALLOCTAP_INLINE ThreadState* ThreadStates::make_or_reuse() noexcept {
  const std::lock_guard hold(lock_);
  if (spare_.get().empty() && count_ >= next_sweep_) sweep();
  ThreadState* state = take_spare();
  if (state == nullptr) {
    void* memory = Arena::allocate(sizeof(ThreadState));
    if (memory == nullptr) return nullptr;
    state = ::new (memory) ThreadState;
    if (made_ < std::numeric_limits<std::uint16_t>::max()) state->number = ++made_;
  }
  adopt(*state);
  state->stack_bounds = {};
  return state;
}

ALLOCTAP_INLINE void ThreadStates::adopt(ThreadState& state) noexcept {
  // Pairs with the previous owner's last store to this flag: the previous owner's accesses happen
  // before the new owner's.
  state.recording.exchange(0, std::memory_order_acquire);
  ++state.generation;
  state.error = os::ErrnoSlot::mine();
  state.thread_id.store(os::current_thread_id(), std::memory_order_relaxed);
  live_.get().push_back(state);
  ++count_;
}

ALLOCTAP_INLINE ThreadState* ThreadStates::take_spare() noexcept {
  if (spare_.get().empty()) return nullptr;
  ThreadState& state = spare_.get().front();
  spare_.get().pop_front();
  return &state;
}

ALLOCTAP_INLINE void ThreadStates::sweep() noexcept {
  const os::ThreadId mine = os::current_thread_id();
  List& live = live_.get();
  for (auto state = live.begin(); state != live.end();) {
    const os::ThreadId id = state->thread_id.load(std::memory_order_relaxed);
    ThreadState& current = *state++;
    if (id != mine && os::thread_is_alive(id)) continue;
    // Pairs with the ended thread's last store to this flag: `stop_world` skips spare states.
    static_cast<void>(current.recording.load(std::memory_order_acquire));
    live.erase(live.iterator_to(current));
    spare_.get().push_back(current);
    --count_;
  }
  next_sweep_ = std::max(kFirstSweep, count_ * 2);
}

}  // namespace alloctap
