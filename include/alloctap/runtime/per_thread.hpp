/// What a policy or a tracker keeps for each thread, without the thread's state knowing of it.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <new>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// A slot of `ThreadState::kept`, claimed by the first thread that needs it. Constant-initialized.
class ThreadStateSlot {
 public:
  constexpr ThreadStateSlot() noexcept = default;
  ThreadStateSlot(const ThreadStateSlot&) = delete;
  ThreadStateSlot& operator=(const ThreadStateSlot&) = delete;

  /// Returns what `thread` has in the slot; nullptr if nothing was set. Runs inside malloc on the
  /// thread that owns `thread`, or while the world is stopped.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE void* get(const ThreadState& thread) const noexcept {
    // Slot 0 is always empty.
    return thread.kept[number_.load(std::memory_order_relaxed)];
  }

  /// Puts an `object` into the slot; returns false if more than `ThreadState::kMaxKept` slots are
  /// in use. Runs inside malloc on the thread that owns `thread`.
  [[nodiscard]] bool set(ThreadState& thread, void* object) noexcept {
    if (!is_claimed()) return false;
    thread.kept[number_.load(std::memory_order_relaxed)] = object;
    return true;
  }

  /// Whether the slot can be set: claims it if it is not yet.
  [[nodiscard]] bool is_claimed() noexcept {
    if (number_.load(std::memory_order_relaxed) == 0) {
      const std::uint32_t mine = ThreadStates::claim_kept();
      std::uint32_t unclaimed = 0;
      number_.compare_exchange_strong(unclaimed, mine, std::memory_order_relaxed);
    }
    return number_.load(std::memory_order_relaxed) != 0;
  }

 private:
  std::atomic<std::uint32_t> number_{0};
};

/// One `T` for each thread that asks, default-initialized in zeroed pages or a reused block of the
/// arena, and never destroyed: like the `ThreadState` that it belongs to, it is handed on to a
/// later thread, whose `ThreadState::generation` is another one.
template <class T>
class PerThread {
 public:
  /// Returns the calling thread's `T`, made if need be; nullptr if the system has no memory, or
  /// more than `ThreadState::kMaxKept` types are kept. Runs inside malloc, on the thread that owns
  /// `thread`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static T* of(ThreadState& thread) noexcept {
    T* kept = get_if_exists(thread);
    return kept != nullptr ? kept : make(thread);
  }

  /// Returns the calling thread's `T` if it was made; else nullptr. Needs no recording scope.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static T* get_if_exists(const ThreadState& thread) noexcept {
    return static_cast<T*>(slot_.get(thread));
  }

  /// Calls `visit(T&)`, or `visit(T&, const ThreadState&)` if it takes both, for each thread's,
  /// those of ended threads included. The caller has stopped the world, or uses only what is
  /// atomic.
  template <class Visit>
  static void for_each(Visit&& visit) {
    ThreadStates::for_each([&](ThreadState& thread) {
      T* kept = get_if_exists(thread);
      if (kept == nullptr) return;
      if constexpr (std::invocable<Visit&, T&, const ThreadState&>) {
        visit(*kept, thread);
      } else {
        visit(*kept);
      }
    });
  }

 private:
  ALLOCTAP_NOINLINE static T* make(ThreadState& thread) noexcept {
    if (!slot_.is_claimed()) return nullptr;
    void* memory = Arena::allocate(sizeof(T));
    if (memory == nullptr) return nullptr;
    T* made = ::new (memory) T;
    static_cast<void>(slot_.set(thread, made));
    return made;
  }

  static inline constinit ThreadStateSlot slot_;
};

}  // namespace alloctap
