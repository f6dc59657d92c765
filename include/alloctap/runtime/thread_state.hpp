/// The tracker's per-thread state, and how a thread stops the world.
#pragma once

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Stops the world: makes other threads leave their recording scopes and keeps them out. One per
/// process. Each thread raises a flag while it records (`enter` to `leave`); the closing thread
/// waits until all flags are 0.
///
/// Both sides follow Dekker's pattern: store the own word, then load the other's. The closing side
/// orders both with a process-wide barrier (membarrier on Linux), so that `enter` is a store and a
/// load. Without such a barrier `enter` uses its own fence.
class WorldGate {
 public:
  using Flag = std::atomic<std::uint32_t>;

  static constexpr std::int64_t kTimeoutNs = 5'000'000'000;

  /// Must be called once before the first use; further calls are harmless.
  static void initialize() noexcept {
    if (os::enable_process_wide_barrier()) word_.fetch_and(~kNeedsFence);
  }

  /// Marks the calling thread as recording. Blocks while the world is stopped.
  ALLOCTAP_ALWAYS_INLINE static void enter(Flag& recording) noexcept {
    recording.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (word_.load(std::memory_order_seq_cst) != kOpen) [[unlikely]] {
      enter_slow(recording);
    }
  }

  /// Marks the calling thread as not recording. Does not return after `halt`.
  ALLOCTAP_ALWAYS_INLINE static void leave(Flag& recording) noexcept {
    recording.store(0, std::memory_order_release);
    if ((word_.load(std::memory_order_relaxed) & kHalted) != 0) [[unlikely]] {
      wait_while(kHalted);
    }
  }

  /// Makes later calls of `enter` block. If other threads may be recording, call `synchronize` and
  /// then `wait_for` with each one's flag.
  static void close() noexcept { word_.fetch_or(kClosed, std::memory_order_seq_cst); }

  /// Ensures that each thread that passed `enter` has a visible flag. Interrupts every processor
  /// that runs a thread of this process.
  static void synchronize() noexcept {
    if ((word_.load(std::memory_order_relaxed) & kNeedsFence) == 0) os::process_wide_barrier();
  }

  /// Blocks until the thread with the flag `recording` has left. Returns false after `timeout_ns`.
  /// Only a thread that was stopped inside can exceed `kTimeoutNs`.
  [[nodiscard]] static bool wait_for(const Flag& recording,
                                     std::int64_t timeout_ns = kTimeoutNs) noexcept;

  static void open() noexcept {
    const std::uint32_t word = word_.fetch_and(~(kClosed | kAwaited), std::memory_order_release);
    if ((word & kAwaited) != 0) os::futex_wake_all(word_);
  }

  [[nodiscard]] static bool is_open() noexcept {
    return (word_.load(std::memory_order_relaxed) & (kClosed | kHalted)) == 0;
  }

  /// Blocks every thread that enters or leaves from now on for ever, because a signal is about to
  /// end the process. May be called in a signal handler.
  static void halt() noexcept { word_.fetch_or(kHalted, std::memory_order_seq_cst); }

  /// Opens unconditionally; for the child of a fork.
  static void reset() noexcept { word_.fetch_and(kNeedsFence, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kOpen = 0;
  static constexpr std::uint32_t kClosed = 1;
  static constexpr std::uint32_t kHalted = 2;
  /// The system has no process-wide barrier, so `enter` takes the slow path.
  static constexpr std::uint32_t kNeedsFence = 4;
  /// A thread waits until the word is open. Set only while closed or halted.
  static constexpr std::uint32_t kAwaited = 8;
  static constexpr std::int64_t kBackoffNs = 100'000;

  static void enter_slow(Flag& recording) noexcept;

  static void wait_while(std::uint32_t bits) noexcept;

  static inline constinit std::atomic<std::uint32_t> word_{kNeedsFence};
};

/// The tracker's state for one thread, in the arena. Created on the thread's first event; only that
/// thread uses it, except for `recording` and the list links. Outlives the thread, and is reused
/// when the kernel no longer knows the thread's id. So no code runs at thread exit, and events of a
/// thread's last destructors find their state.
struct ThreadState
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
  /// The deepest stack that any tracker captures.
  static constexpr std::size_t kMaxFrames = 4000;
  /// The number of slots for `PerThread`, including slot 0, which stays empty.
  static constexpr std::size_t kMaxKept = 224;

  WorldGate::Flag recording{0};
  std::atomic<os::ThreadId> thread_id{0};
  /// Counts the threads that have owned this state. Data cached from another owner's stack must not
  /// be read.
  std::uint32_t generation = 0;
  /// The serial number of this state, from 1; 0 for states after the 65,535th.
  std::uint16_t number = 0;
  /// The address of this thread's errno.
  os::ErrnoSlot error;
  /// The objects of `PerThread`; other threads read them only while the world is stopped.
  std::array<void*, kMaxKept> kept{};
  /// The bounds of this thread's stack, as far as they were needed.
  os::StackBounds stack_bounds;
  /// The unwind buffer, here because the program's stack may be small. Untouched pages cost
  /// nothing.
  std::uintptr_t frames[kMaxFrames];
};

/// The registry of all thread states of the process.
class ThreadStates {
 public:
  /// Returns the calling thread's state, created if needed; nullptr if out of memory. Preserves
  /// errno.
  [[nodiscard]] static ThreadState* mine() noexcept {
    ThreadState* state = this_thread_slot().state;
    return state != nullptr ? state : create();
  }

  /// Stops the world: blocks until no other thread records. Returns false if another thread was
  /// stopped while it recorded for longer than `timeout_ns`, or if the calling thread is itself
  /// recording. The tables may then be inconsistent.
  [[nodiscard]] static bool stop_world(std::int64_t timeout_ns = WorldGate::kTimeoutNs) noexcept;

  /// Called in a signal handler that will not return to the interrupted code: threads that stop the
  /// world no longer wait for this one. Precondition: it holds no lock of the tracker.
  static void abandon_section() noexcept;

  static void resume_world() noexcept { WorldGate::open(); }

  /// Calls `visit(ThreadState&)` for each state, including those of ended threads. Holds the list
  /// lock, so `visit` must not create the calling thread's state.
  template <class Visit>
  static void for_each(Visit&& visit) {
    const std::lock_guard hold(lock_);
    for (ThreadState& state : live_.get()) visit(state);
    for (ThreadState& state : spare_.get()) visit(state);
  }

  /// Returns an unused index in `ThreadState::kept`; 0 if all are used. Lock-free: may be called in
  /// a recording scope.
  [[nodiscard]] static std::uint32_t claim_kept() noexcept {
    const std::uint32_t next = next_kept_.fetch_add(1, std::memory_order_relaxed);
    return next < ThreadState::kMaxKept ? next : 0;
  }

  /// Held around fork.
  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

  /// Drops all states but the calling thread's, which gets its new id; for the child of a fork.
  static void keep_only_mine() noexcept;

  /// Returns the number of states whose threads live or whose end was not noticed yet.
  [[nodiscard]] static std::size_t count() noexcept {
    const std::lock_guard hold(lock_);
    return count_;
  }

 private:
  using List = boost::intrusive::list<ThreadState, boost::intrusive::constant_time_size<false>>;

  static constexpr std::size_t kFirstSweep = 16;

  static ThreadState* create() noexcept;

  static ThreadState* make_or_reuse() noexcept;

  static void adopt(ThreadState& state) noexcept;

  static ThreadState* take_spare() noexcept;

  /// Moves the states of ended threads to the spare list. A state with the calling thread's id
  /// belonged to an ended thread, too. The next sweep is due when the number has doubled, so
  /// short-lived threads cost an amortized constant number of system calls.
  static void sweep() noexcept;

  static inline constinit FutexLock lock_;
  static inline constinit NoDestroyLazy<List> live_;
  static inline constinit NoDestroyLazy<List> spare_;
  static inline constinit std::size_t count_ = 0;
  /// The number of numbered states.
  static inline constinit std::uint16_t made_ = 0;
  static inline constinit std::size_t next_sweep_ = kFirstSweep;
  static inline constinit std::atomic<std::uint32_t> next_kept_{1};
  static inline constinit std::atomic<bool> section_abandoned_{false};
};

/// Whether the calling thread holds or awaits a lock of the tracker. For signal handlers.
[[nodiscard]] inline bool holds_tracker_lock() noexcept {
  return this_thread_slot().critical.load(std::memory_order_relaxed) > 0;
}

/// Whether other threads may depend on the calling thread's progress, so that it must not block for
/// a snapshot. For signal handlers.
[[nodiscard]] inline bool inside_tracker() noexcept {
  const ThreadState* state = this_thread_slot().state;
  return holds_tracker_lock() ||
         (state != nullptr && state->recording.load(std::memory_order_relaxed) != 0);
}

/// A scope guard in which the calling thread may access the tracker's tables. Not re-entrant.
class RecordingScope {
 public:
  ALLOCTAP_ALWAYS_INLINE RecordingScope() noexcept : RecordingScope(ThreadStates::mine()) {}
  /// Takes the calling thread's state; nullptr if it has none.
  ALLOCTAP_ALWAYS_INLINE explicit RecordingScope(ThreadState* mine) noexcept : state_(mine) {
    if (state_ != nullptr) WorldGate::enter(state_->recording);
  }
  ALLOCTAP_ALWAYS_INLINE ~RecordingScope() {
    if (state_ != nullptr) WorldGate::leave(state_->recording);
  }
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  /// Returns nullptr if the thread has no state because the system is out of memory; then nothing
  /// may be recorded.
  [[nodiscard]] ThreadState* thread() const noexcept { return state_; }

 private:
  ThreadState* state_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/thread_state.hpp"
#endif
