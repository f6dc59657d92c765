/// Re-entrancy guards, which distinguish calls of the program from nested calls.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"

namespace alloctap {

struct ThreadState;

/// The tracker's thread-local variables. They are few, because in a plug-in loaded by dlopen they
/// use static TLS, of which the loader reserves little. Never destroyed, because the last
/// destructors of a thread may free memory.
struct ThreadSlot {
  ThreadState* state = nullptr;
  /// Counts nested guards. Atomic, because GCC assumes that malloc reads no user data: it would
  /// delete stores to a plain variable around a direct call of malloc.
  std::atomic<std::int32_t> depth{0};
  /// If positive, this thread's allocations are served by `BootstrapArena` (`UseInternalArena`).
  std::atomic<std::int32_t> own_allocations{0};
  /// Positive while this thread holds or awaits a `FutexLock`, or changes shared data outside a
  /// recording scope.
  std::atomic<std::int32_t> critical{0};
  /// Countdown to this thread's next allocation with a guard page; 0 before the first allocation.
  /// Negative if other checks must also examine each allocation (`GuardSampler`).
  std::int32_t until_guarded = 0;
  /// Whether this thread is blocked until the final report, in a call whose arguments point to no
  /// block. If so, the leak scan skips the stack frames of that call.
  std::atomic<bool> awaits_report{false};

  /// Increments `critical` of the calling thread. Not an atomic increment, because an interrupting
  /// signal handler restores the value before it returns. Static, because UBSan's null check of
  /// `this` would read CPU flags of an addition that the linker removes in TLS relaxation.
  static void enter_critical() noexcept { add_critical(1); }
  static void leave_critical() noexcept { add_critical(-1); }

 private:
  static void add_critical(std::int32_t change) noexcept;
};

ALLOCTAP_ALWAYS_INLINE ThreadSlot& this_thread_slot() noexcept {
  return os::ThreadLocal<ThreadSlot>::mine();
}

inline void ThreadSlot::add_critical(std::int32_t change) noexcept {
  auto& critical = this_thread_slot().critical;
  critical.store(critical.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

/// A scope guard that counts how deep this thread is in hooked functions. The outermost call comes
/// from the program and is recorded; nested calls are not recorded.
class ReentrancyGuard {
 public:
  ReentrancyGuard() noexcept
      : depth_before_(this_thread_slot().depth.load(std::memory_order_relaxed)) {
    this_thread_slot().depth.store(depth_before_ + 1, std::memory_order_relaxed);
  }
  ~ReentrancyGuard() { leave(); }
  ReentrancyGuard(const ReentrancyGuard&) = delete;
  ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

  /// Returns whether a guard is alive on the calling thread.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static bool inside() noexcept {
    return this_thread_slot().depth.load(std::memory_order_relaxed) != 0;
  }

  [[nodiscard]] bool is_outermost() const noexcept { return depth_before_ == 0; }

  /// Does the destructor's work, for code whose destructors are never run.
  void leave() const noexcept {
    this_thread_slot().depth.store(depth_before_, std::memory_order_relaxed);
  }

 private:
  std::int32_t depth_before_;
};

/// A `ReentrancyGuard` for a call known to be outermost; cheaper because it saves no depth.
class OutermostGuard {
 public:
  /// Precondition: `ReentrancyGuard::inside()` is false.
  ALLOCTAP_ALWAYS_INLINE OutermostGuard() noexcept { set_depth(1); }
  ALLOCTAP_ALWAYS_INLINE ~OutermostGuard() { set_depth(0); }
  OutermostGuard(const OutermostGuard&) = delete;
  OutermostGuard& operator=(const OutermostGuard&) = delete;

  [[nodiscard]] static constexpr bool is_outermost() noexcept { return true; }

 private:
  ALLOCTAP_ALWAYS_INLINE static void set_depth(std::int32_t depth) noexcept {
    this_thread_slot().depth.store(depth, std::memory_order_relaxed);
  }
};

/// A scope guard that makes hooked functions serve this thread's allocations from the bootstrap
/// arena. Used for work that must not wait for the allocator's locks, such as a crash report. Is
/// also a re-entrancy guard.
class UseInternalArena {
 public:
  UseInternalArena() noexcept { this_thread_slot().own_allocations.fetch_add(1); }
  ~UseInternalArena() { this_thread_slot().own_allocations.fetch_sub(1); }
  UseInternalArena(const UseInternalArena&) = delete;
  UseInternalArena& operator=(const UseInternalArena&) = delete;

  [[nodiscard]] static bool active() noexcept {
    return this_thread_slot().own_allocations.load(std::memory_order_relaxed) > 0;
  }

 private:
  ReentrancyGuard guard_;
};

}  // namespace alloctap
