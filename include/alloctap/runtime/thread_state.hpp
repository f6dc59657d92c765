/// What the tracker keeps for each thread of the program.
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

/// One per process. A thread states in a flag of its own that it records (`enter` .. `leave`);
/// whoever closes the gate waits until no flag is up.
///
/// The two sides form Dekker's pattern: store own word, then load the other's. The closing side
/// pays for the order of both with a process-wide barrier, so that entering costs a store and a
/// load. Where the system has no such barrier, entering pays for its own order.
class WorldGate {
 public:
  using Flag = std::atomic<std::uint32_t>;

  static constexpr std::int64_t kTimeoutNs = 5'000'000'000;

  /// Before the first use, once; may be called again.
  static void initialize() noexcept {
    if (os::enable_process_wide_barrier()) word_.fetch_and(~kNeedsFence);
  }

  /// Marks the calling thread as recording; waits while the gate is closed.
  ALLOCTAP_ALWAYS_INLINE static void enter(Flag& recording) noexcept {
    recording.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (word_.load(std::memory_order_seq_cst) != kOpen) [[unlikely]] {
      enter_slow(recording);
    }
  }

  /// The calling thread is out of the tables. Does not return once `halt` was called.
  ALLOCTAP_ALWAYS_INLINE static void leave(Flag& recording) noexcept {
    recording.store(0, std::memory_order_release);
    if ((word_.load(std::memory_order_relaxed) & kHalted) != 0) [[unlikely]] {
      wait_while(kHalted);
    }
  }

  /// From now on `enter` waits. Where there are other threads that may enter, follow with
  /// `synchronize` and with `wait_for` on the flag of each.
  static void close() noexcept { word_.fetch_or(kClosed, std::memory_order_seq_cst); }

  /// Makes sure that whoever does not wait has its flag up. It interrupts every processor that runs
  /// a thread of this process.
  static void synchronize() noexcept {
    if ((word_.load(std::memory_order_relaxed) & kNeedsFence) == 0) os::process_wide_barrier();
  }

  /// Waits until the thread with `recording` is outside; false after `patience_ns`. `kTimeoutNs`
  /// only a thread that was stopped inside can use up.
  [[nodiscard]] static bool wait_for(const Flag& recording,
                                     std::int64_t patience_ns = kTimeoutNs) noexcept;

  static void open() noexcept {
    const std::uint32_t word = word_.fetch_and(~(kClosed | kAwaited), std::memory_order_release);
    if ((word & kAwaited) != 0) os::futex_wake_all(word_);
  }

  /// Whether nobody has closed it.
  [[nodiscard]] static bool is_open() noexcept {
    return (word_.load(std::memory_order_relaxed) & (kClosed | kHalted)) == 0;
  }

  /// Every thread that enters or leaves from now on stays there for ever: the process is about to
  /// end by a signal. May be called inside a signal handler.
  static void halt() noexcept { word_.fetch_or(kHalted, std::memory_order_seq_cst); }

  /// In the child of a fork: open, whatever it was.
  static void reset() noexcept { word_.fetch_and(kNeedsFence, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kOpen = 0;
  static constexpr std::uint32_t kClosed = 1;
  static constexpr std::uint32_t kHalted = 2;
  /// There is no process-wide barrier: whoever enters takes the slow way.
  static constexpr std::uint32_t kNeedsFence = 4;
  /// Somebody waits until it is opened. Set while it is closed or halted.
  static constexpr std::uint32_t kAwaited = 8;
  static constexpr std::int64_t kBackoffNs = 100'000;

  static void enter_slow(Flag& recording) noexcept;

  static void wait_while(std::uint32_t bits) noexcept;

  static inline constinit std::atomic<std::uint32_t> word_{kNeedsFence};
};

/// Lives in the arena; made on a thread's first event and used by that thread alone, but for the
/// flag and the links. Outlives its thread: it is taken over once the kernel knows the thread no
/// more. So nothing has to run when a thread ends, and events of a thread's last destructors find
/// their state in place.
struct ThreadState
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
  /// The deepest stack that any tracker captures.
  static constexpr std::size_t kMaxFrames = 4000;
  /// How many types `PerThread` can keep, and the place that stays empty.
  static constexpr std::size_t kMaxKept = 224;

  WorldGate::Flag recording{0};
  std::atomic<os::ThreadId> thread_id{0};
  /// Counts the threads that this state has belonged to. What was remembered of the stack of
  /// another one must not be looked at.
  std::uint32_t generation = 0;
  /// Which one this is: 1 for the first that was made, 0 for those beyond the 65,535th.
  std::uint16_t number = 0;
  /// Where this thread's error number is.
  os::ErrnoSlot error;
  /// What `PerThread` keeps; read by others only behind the closed gate.
  std::array<void*, kMaxKept> kept{};
  /// Where this thread's stack is, as far as it was needed.
  os::StackBounds stack_bounds;
  /// Where stacks are captured: on no program's small stack. Untouched pages cost nothing.
  std::uintptr_t frames[kMaxFrames];
};

/// All thread states of the process.
class ThreadStates {
 public:
  /// The calling thread's state, made if need be; nullptr where the system has no memory. Leaves
  /// the error number of the program's last system call as it is.
  [[nodiscard]] static ThreadState* mine() noexcept {
    ThreadState* state = this_thread_slot().state;
    return state != nullptr ? state : create();
  }

  /// Closes the gate and waits until no other thread records. False where one, or the calling one,
  /// was stopped while it recorded, for longer than `patience_ns`: the tables may then be in the
  /// middle of a change.
  [[nodiscard]] static bool close_gate(std::int64_t patience_ns = WorldGate::kTimeoutNs) noexcept;

  /// The calling thread, in a signal handler, will not go back to where it was interrupted: nobody
  /// waits for it any more. Precondition: it holds no lock of the tracker.
  static void abandon_section() noexcept;

  static void open_gate() noexcept { WorldGate::open(); }

  /// Calls `visit(ThreadState&)` for each state, those of ended threads included. No state is made
  /// or handed on meanwhile: `visit` must not be the first to ask for the calling thread's.
  template <class Visit>
  static void for_each(Visit&& visit) {
    const std::lock_guard hold(lock_);
    for (ThreadState& state : live_.get()) visit(state);
    for (ThreadState& state : spare_.get()) visit(state);
  }

  /// A place in `ThreadState::kept` that nobody else has; 0 where there is none left. Takes no
  /// lock: whoever records may ask.
  [[nodiscard]] static std::uint32_t claim_kept() noexcept {
    const std::uint32_t next = next_kept_.fetch_add(1, std::memory_order_relaxed);
    return next < ThreadState::kMaxKept ? next : 0;
  }

  /// Held around fork.
  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

  /// In the child of a fork: only the calling thread is left, with a new id.
  static void keep_only_mine() noexcept;

  /// How many states belong to threads that live or whose end was not noticed yet.
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

  /// Sets aside the states of threads that have ended. A state with the calling thread's id is of
  /// such a one too. The next sweep comes when the number has doubled, so that threads that come
  /// and go cost a constant number of system calls each.
  static void sweep() noexcept;

  static inline constinit FutexLock lock_;
  static inline constinit NoDestroyLazy<List> live_;
  static inline constinit NoDestroyLazy<List> spare_;
  static inline constinit std::size_t count_ = 0;
  /// Those that have a number.
  static inline constinit std::uint16_t made_ = 0;
  static inline constinit std::size_t next_sweep_ = kFirstSweep;
  static inline constinit std::atomic<std::uint32_t> next_kept_{1};
  static inline constinit std::atomic<bool> section_abandoned_{false};
};

/// Whether the calling thread holds a lock of the tracker. For signal handlers.
[[nodiscard]] inline bool holds_tracker_lock() noexcept {
  return this_thread_slot().critical.load(std::memory_order_relaxed) > 0;
}

/// Whether the calling thread is at a place where it has to run on before others can: it must not
/// be made to wait for a snapshot there. For signal handlers.
[[nodiscard]] inline bool inside_tracker() noexcept {
  const ThreadState* state = this_thread_slot().state;
  return holds_tracker_lock() ||
         (state != nullptr && state->recording.load(std::memory_order_relaxed) != 0);
}

/// The time in which the calling thread may touch the tracker's tables.
class RecordingScope {
 public:
  ALLOCTAP_ALWAYS_INLINE RecordingScope() noexcept : RecordingScope(ThreadStates::mine()) {}
  /// For who knows the calling thread's state already; nullptr where it has none.
  ALLOCTAP_ALWAYS_INLINE explicit RecordingScope(ThreadState* mine) noexcept : state_(mine) {
    if (state_ != nullptr) WorldGate::enter(state_->recording);
  }
  ALLOCTAP_ALWAYS_INLINE ~RecordingScope() {
    if (state_ != nullptr) WorldGate::leave(state_->recording);
  }
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  /// nullptr where the thread could not get a state; nothing may be recorded then.
  [[nodiscard]] ThreadState* thread() const noexcept { return state_; }

 private:
  ThreadState* state_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/thread_state.hpp"
#endif
