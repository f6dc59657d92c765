/// The tracker's per-thread state, its recording scopes, and the mechanism that stops the world.
#pragma once

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// Stops the world: waits until other threads leave their recording scopes, and blocks threads that
/// enter a recording scope. One per process. A thread's flag is 1 while the thread records (`enter`
/// to `leave`). The stopping thread calls `close`, then waits until all flags are 0.
///
/// Recording threads and the stopping thread follow Dekker's pattern: each stores its own word,
/// then loads the other's word. The stopping thread orders the accesses of both threads by a
/// process-wide barrier (membarrier on Linux), so that `enter` needs no fence. If the system has no
/// process-wide barrier, `enter` uses a fence.
class WorldGate {
 public:
  using Flag = std::atomic<std::uint32_t>;

  static constexpr std::int64_t kTimeoutNs = 5'000'000'000;

  /// Detects the process-wide barrier. Call before the first use; further calls have no effect.
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

  /// Marks the calling thread as not recording. Blocks forever after `halt`.
  ALLOCTAP_ALWAYS_INLINE static void leave(Flag& recording) noexcept {
    recording.store(0, std::memory_order_release);
    if ((word_.load(std::memory_order_relaxed) & kHalted) != 0) [[unlikely]] {
      wait_while(kHalted);
    }
  }

  /// Makes later calls of `enter` block. If other threads may be recording, call `synchronize`
  /// next, then `wait_for` with each thread's flag.
  static void close() noexcept { word_.fetch_or(kClosed, std::memory_order_seq_cst); }

  /// Makes the flags of all threads that passed `enter` visible to the calling thread. Interrupts
  /// every processor that runs a thread of this process.
  static void synchronize() noexcept {
    if ((word_.load(std::memory_order_relaxed) & kNeedsFence) == 0) os::process_wide_barrier();
  }

  /// Blocks until the thread with the flag `recording` has called `leave`. Returns false if that
  /// takes longer than `timeout_ns`. Only a suspended thread exceeds `kTimeoutNs`.
  [[nodiscard]] static bool wait_for(const Flag& recording,
                                     std::int64_t timeout_ns = kTimeoutNs) noexcept;

  static void open() noexcept {
    const std::uint32_t word = word_.fetch_and(~(kClosed | kAwaited), std::memory_order_release);
    if ((word & kAwaited) != 0) os::futex_wake_all(word_);
  }

  [[nodiscard]] static bool is_open() noexcept {
    return (word_.load(std::memory_order_relaxed) & (kClosed | kHalted)) == 0;
  }

  /// Makes every later `enter` and `leave` block forever, because a signal is about to end the
  /// process. May be called in a signal handler.
  static void halt() noexcept { word_.fetch_or(kHalted, std::memory_order_seq_cst); }

  /// Lets `enter` pass again after `close` or `halt`. Used in the child of a fork.
  static void reset() noexcept { word_.fetch_and(kNeedsFence, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kOpen = 0;
  static constexpr std::uint32_t kClosed = 1;
  static constexpr std::uint32_t kHalted = 2;
  /// Set if the system has no process-wide barrier, so that `enter` takes the slow path.
  static constexpr std::uint32_t kNeedsFence = 4;
  /// Set if a thread waits for the word to become open. Set only while closed or halted.
  static constexpr std::uint32_t kAwaited = 8;
  static constexpr std::int64_t kBackoffNs = 100'000;

  static void enter_slow(Flag& recording) noexcept;

  static void wait_while(std::uint32_t bits) noexcept;

  static inline constinit std::atomic<std::uint32_t> word_{kNeedsFence};
};

/// The tracker's state for one thread, in arena memory. Created on the thread's first event. Only
/// that thread uses it, except for `recording` and the list links. The state outlives its thread,
/// so the thread's last destructors can still record, and no code runs at thread exit. Once the
/// kernel no longer knows the thread id, `sweep` makes the state available to a new thread.
struct ThreadState
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
  /// The frame limit of the deepest stack that any tracker captures.
  static constexpr std::size_t kMaxFrames = 4000;
  /// The number of slots for `PerThread`, including slot 0, which stays empty.
  static constexpr std::size_t kMaxKept = 224;

  WorldGate::Flag recording{0};
  std::atomic<os::ThreadId> thread_id{0};
  /// Counts the threads that have owned this state. A new owner must not read data that was cached
  /// from the stack of a previous owner.
  std::uint32_t generation = 0;
  /// The serial number of this state, from 1; 0 for every state after the 65,535th.
  std::uint16_t number = 0;
  /// The address of this thread's errno.
  os::ErrnoSlot error;
  /// The objects that `PerThread` stores; other threads read them only while the world is stopped.
  std::array<void*, kMaxKept> kept{};
  /// The bounds of this thread's stack, read on demand.
  os::StackBounds stack_bounds;
  /// The unwinder's output. Not on the program's stack, which may be small. Untouched pages of the
  /// array need no memory.
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
  /// still recording after `timeout_ns` (for example, suspended), or if the calling thread is
  /// recording. If false, the tables may be inconsistent.
  [[nodiscard]] static bool stop_world(std::int64_t timeout_ns = WorldGate::kTimeoutNs) noexcept;

  /// Makes `stop_world` ignore the calling thread. Called by a signal handler that will not return
  /// to the interrupted code. Precondition: the thread holds no lock of the tracker.
  static void abandon_section() noexcept;

  static void resume_world() noexcept { WorldGate::open(); }

  /// Calls `visit(ThreadState&)` for each state, even if its thread has ended. Holds the list lock,
  /// so `visit` must not create the calling thread's state.
  template <class Visit>
  static void for_each(Visit&& visit) {
    const std::lock_guard hold(lock_);
    for (ThreadState& state : live_.get()) visit(state);
    for (ThreadState& state : spare_.get()) visit(state);
  }

  /// Returns an unassigned index of `ThreadState::kept`; 0 if all are assigned. Lock-free; may be
  /// called in a recording scope.
  [[nodiscard]] static std::uint32_t claim_kept() noexcept {
    const std::uint32_t next = next_kept_.fetch_add(1, std::memory_order_relaxed);
    return next < ThreadState::kMaxKept ? next : 0;
  }

  /// Returns the lock of the thread list, which is held around fork.
  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

  /// Keeps only the calling thread's state in use and updates its thread id; for a fork's child.
  static void keep_only_mine() noexcept;

  /// Returns the number of states in use, including threads that ended after the last `sweep`.
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
  /// counts as ended, too, because ids are reused. The next sweep is due when the number of states
  /// has doubled, so a thread costs an amortized constant number of system calls.
  static void sweep() noexcept;

  static inline constinit FutexLock lock_;
  static inline constinit NoDestroyLazy<List> live_;
  static inline constinit NoDestroyLazy<List> spare_;
  static inline constinit std::size_t count_ = 0;
  /// The number of states with a nonzero `number`.
  static inline constinit std::uint16_t made_ = 0;
  static inline constinit std::size_t next_sweep_ = kFirstSweep;
  static inline constinit std::atomic<std::uint32_t> next_kept_{1};
  static inline constinit std::atomic<bool> section_abandoned_{false};
};

/// Returns whether this thread holds or awaits a lock of the tracker. Used in signal handlers.
[[nodiscard]] inline bool holds_tracker_lock() noexcept {
  return this_thread_slot().critical.load(std::memory_order_relaxed) > 0;
}

/// Returns whether other threads may wait for the calling thread. If so, the calling thread must
/// not wait for a snapshot. Used in signal handlers.
[[nodiscard]] inline bool inside_tracker() noexcept {
  const ThreadState* state = this_thread_slot().state;
  return holds_tracker_lock() ||
         (state != nullptr && state->recording.load(std::memory_order_relaxed) != 0);
}

/// A scope in which the calling thread may access the tracker's tables. Not re-entrant.
class RecordingScope {
 public:
  ALLOCTAP_ALWAYS_INLINE RecordingScope() noexcept : RecordingScope(ThreadStates::mine()) {}
  /// `mine` is the calling thread's state; nullptr if it has none.
  ALLOCTAP_ALWAYS_INLINE explicit RecordingScope(ThreadState* mine) noexcept : state_(mine) {
    if (state_ != nullptr) WorldGate::enter(state_->recording);
  }
  ALLOCTAP_ALWAYS_INLINE ~RecordingScope() {
    if (state_ != nullptr) WorldGate::leave(state_->recording);
  }
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  /// Returns the thread's state; nullptr if out of memory. Then the thread must record nothing.
  [[nodiscard]] ThreadState* thread() const noexcept { return state_; }

 private:
  ThreadState* state_;
};

/// A `RecordingScope` whose destructor restores errno. On Linux `ThreadState` caches the address of
/// errno, to avoid two calls of the C library for each malloc/free pair.
///
/// `ErrnoGuard` is the first base and so is destroyed last, because the destructor of
/// `RecordingScope` may make a system call that changes errno.
class ErrnoSafeRecordingScope : os::ErrnoGuard, public RecordingScope {
 public:
  ALLOCTAP_ALWAYS_INLINE ErrnoSafeRecordingScope() noexcept
      : ErrnoSafeRecordingScope(ThreadStates::mine()) {}
  /// Inlined, because a call would force the caller's values from registers into memory.
  ALLOCTAP_ALWAYS_INLINE ~ErrnoSafeRecordingScope() {}

 private:
  ALLOCTAP_ALWAYS_INLINE explicit ErrnoSafeRecordingScope(ThreadState* mine) noexcept
      : ErrnoGuard(mine != nullptr ? mine->error : os::ErrnoSlot::mine()), RecordingScope(mine) {}
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/thread_state.hpp"
#endif
