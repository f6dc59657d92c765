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

/// One `T` for each thread that asks, default-initialized in zeroed pages or a reused block of the
/// arena, and never destroyed: like the `ThreadState` that it belongs to, it is handed on to a
/// later thread, whose `ThreadState::generation` is another one.
template <class T>
class PerThread {
 public:
  /// The calling thread's `T`, made if need be; nullptr where the system has no memory, or more
  /// than `ThreadState::kMaxKept` types are kept. Runs inside malloc, on the thread that owns
  /// `thread`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static T* of(ThreadState& thread) noexcept {
    void* kept = thread.kept[number_.load(std::memory_order_relaxed)];
    return kept != nullptr ? static_cast<T*>(kept) : make(thread);
  }

  /// The calling thread's `T` if it was made; else nullptr. Needs no recording section.
  [[nodiscard]] static T* get_if_exists(const ThreadState& thread) noexcept {
    return static_cast<T*>(thread.kept[number_.load(std::memory_order_relaxed)]);
  }

  /// Calls `visit(T&)`, or `visit(T&, const ThreadState&)` if it takes both, for each thread's,
  /// those of ended threads included. The caller has closed the gate, or uses only what is atomic.
  template <class Visit>
  static void for_each(Visit&& visit) {
    const std::uint32_t number = number_.load(std::memory_order_relaxed);
    ThreadStates::for_each([&](ThreadState& thread) {
      void* kept = thread.kept[number];
      if (kept == nullptr) return;
      if constexpr (std::invocable<Visit&, T&, const ThreadState&>) {
        visit(*static_cast<T*>(kept), thread);
      } else {
        visit(*static_cast<T*>(kept));
      }
    });
  }

 private:
  /// 0, whose place is always empty, until the first thread asks.
  ALLOCTAP_NOINLINE static T* make(ThreadState& thread) noexcept {
    if (number_.load(std::memory_order_relaxed) == 0) claim_number();
    const std::uint32_t number = number_.load(std::memory_order_relaxed);
    if (number == 0) return nullptr;
    void* memory = Arena::allocate(sizeof(T));
    if (memory == nullptr) return nullptr;
    T* made = ::new (memory) T;
    thread.kept[number] = made;
    return made;
  }

  static void claim_number() noexcept {
    const std::uint32_t mine = ThreadStates::claim_kept();
    std::uint32_t none = 0;
    number_.compare_exchange_strong(none, mine, std::memory_order_relaxed);
  }

  static inline constinit std::atomic<std::uint32_t> number_{0};
};

}  // namespace alloctap
