/// Per-thread objects in `ThreadState`, and structs that other threads copy without a data race.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// An index into `ThreadState::kept`, assigned on first use. Constant-initialized.
class ThreadStateSlot {
 public:
  constexpr ThreadStateSlot() noexcept = default;
  ThreadStateSlot(const ThreadStateSlot&) = delete;
  ThreadStateSlot& operator=(const ThreadStateSlot&) = delete;

  /// Returns the object that `thread` has in the slot; nullptr if `set` was never called. Runs
  /// inside malloc on the thread that owns `thread`, or while the world is stopped.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE void* get(const ThreadState& thread) const noexcept {
    // An unassigned index is 0; element 0 of `kept` is always nullptr.
    return thread.kept[number_.load(std::memory_order_relaxed)];
  }

  /// Stores `object` in the slot. Returns false if all `ThreadState::kMaxKept` indexes are assigned
  /// to other slots. Runs inside malloc on the thread that owns `thread`.
  [[nodiscard]] bool set(ThreadState& thread, void* object) noexcept {
    if (!is_claimed()) return false;
    thread.kept[number_.load(std::memory_order_relaxed)] = object;
    return true;
  }

  /// Assigns an index if this slot has none. Returns false if all indexes are assigned.
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

/// One `T` per thread, default-initialized in arena memory, which is zeroed pages or a reused
/// block. Never destroyed. When a thread ends, its `T` passes with its `ThreadState` to a later
/// thread, which has another `ThreadState::generation`.
template <class T>
class PerThread {
 public:
  /// Returns the calling thread's `T`, created if needed. Returns nullptr if out of memory or if
  /// `ThreadState::kept` has no free element. Runs inside malloc, on the thread that owns `thread`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static T* of(ThreadState& thread) noexcept {
    T* kept = get_if_exists(thread);
    return kept != nullptr ? kept : make(thread);
  }

  /// Returns the `T` of `thread`; nullptr if it was not created. Needs no recording scope.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static T* get_if_exists(const ThreadState& thread) noexcept {
    return static_cast<T*>(slot_.get(thread));
  }

  /// Calls `visit(T&)` or `visit(T&, const ThreadState&)` for each thread's `T`, even if the thread
  /// has ended. The caller has stopped the world or uses only atomic members of `T`.
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

/// A struct stored as relaxed atomic words: one thread writes it, other threads copy it without a
/// data race. A copy that races with a store may mix old and new words, so it suits only data that
/// tolerates mixing. Constant-initialized as zeros; may be used inside malloc.
template <class T>
class RelaxedAtomicStruct {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void store(const T& value) noexcept {
    std::array<std::uint64_t, kWords> words{};
    std::memcpy(words.data(), &value, sizeof(T));
    for (std::size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_relaxed);
  }

  [[nodiscard]] T load() const noexcept {
    std::array<std::uint64_t, kWords> words;
    for (std::size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_relaxed);
    T value;
    std::memcpy(static_cast<void*>(&value), words.data(), sizeof(T));
    return value;
  }

 private:
  static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;

  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

}  // namespace alloctap
