/// Tells a call of the program from a call that the tracker, or the allocator itself, makes on the
/// way of one.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"

namespace alloctap {

struct ThreadState;

/// What every thread keeps in thread-local storage: small, because a plug-in loaded late shares the
/// little static TLS that the loader set aside. Never destroyed: a thread may still free memory
/// while its last destructors run.
struct ThreadSlot {
  ThreadState* state = nullptr;
  /// Atomic so that the compiler keeps the stores around a direct call of malloc: GCC knows malloc
  /// as a function that reads no user data and deletes stores to a plain variable.
  std::atomic<std::int32_t> depth{0};
  /// While positive, allocations of this thread are the tracker's own (`UseInternalArena`).
  std::atomic<std::int32_t> own_allocations{0};
  /// While positive, this thread holds or awaits a lock of the tracker (`FutexLock`), or changes
  /// what others need outside a recording section.
  std::atomic<std::int32_t> critical{0};
  /// How many allocations there are until one is chosen for a guard page; 0 before the first.
  /// Negative where each is looked at for another reason (`GuardSampler`).
  std::int32_t until_guarded = 0;
  /// Whether this thread waits for the last report in a call that has no use for what it was given.
  std::atomic<bool> awaits_report{false};

  /// For the calling thread. Not one instruction, but whole for its signal handlers, which undo
  /// what they do. Static: a sanitizer's test of `this` reads the flags of an addition that the
  /// linker takes out of accesses to thread-local storage.
  static void enter_critical() noexcept { add_critical(1); }
  static void leave_critical() noexcept { add_critical(-1); }

 private:
  static void add_critical(std::int32_t change) noexcept;
};

/// The calling thread's.
ALLOCTAP_ALWAYS_INLINE ThreadSlot& this_thread_slot() noexcept {
  return os::ThreadLocal<ThreadSlot>::mine();
}

inline void ThreadSlot::add_critical(std::int32_t change) noexcept {
  auto& critical = this_thread_slot().critical;
  critical.store(critical.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

/// Counts how deep this thread is inside hooked functions. The outermost call is the program's and
/// is recorded; calls below it pass through.
class ReentrancyGuard {
 public:
  ReentrancyGuard() noexcept
      : depth_before_(this_thread_slot().depth.load(std::memory_order_relaxed)) {
    this_thread_slot().depth.store(depth_before_ + 1, std::memory_order_relaxed);
  }
  ~ReentrancyGuard() { leave(); }
  ReentrancyGuard(const ReentrancyGuard&) = delete;
  ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

  /// Whether the calling thread is below one.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static bool inside() noexcept {
    return this_thread_slot().depth.load(std::memory_order_relaxed) != 0;
  }

  /// Whether this guard is the first on its thread.
  [[nodiscard]] bool is_outermost() const noexcept { return depth_before_ == 0; }

  /// What the destructor does, for where none will run.
  void leave() const noexcept {
    this_thread_slot().depth.store(depth_before_, std::memory_order_relaxed);
  }

 private:
  std::int32_t depth_before_;
};

/// The same for a call that is known to be the outermost: it has nothing to remember.
class OutermostGuard {
 public:
  /// Precondition: the calling thread is not `ReentrancyGuard::inside`.
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

/// While one is alive, what this thread allocates through a hooked function is served from the
/// bootstrap arena instead of the host's allocator. For work that must not wait for the allocator's
/// locks, such as a report that is written while a crashed thread may hold them. Implies
/// ReentrancyGuard.
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
