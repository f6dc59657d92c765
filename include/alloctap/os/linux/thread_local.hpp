/// Thread-local storage by initial-exec TLS, and the guard of errno.
#pragma once

#include <cerrno>

#include "alloctap/macros.hpp"

namespace alloctap::os {

/// A zero-initialized `T` for each thread, accessed without a call (initial-exec TLS) from a
/// thread's first instruction to its last. `T` needs no destructor, and zeros must be a valid
/// state. `Owner` gives each user a separate object of type `T`.
template <class T, class Owner = T>
class ThreadLocal {
 public:
  ALLOCTAP_ALWAYS_INLINE static T& mine() noexcept { return value_; }

  /// Returns true if each thread has its own object; else all share one, which must not be used.
  static constexpr bool is_own() noexcept { return true; }

 private:
  ALLOCTAP_INITIAL_EXEC static inline constinit thread_local T value_{};
};

/// The address of a thread's errno, cached because finding it takes a call of the C library.
class ErrnoSlot {
 public:
  constexpr ErrnoSlot() noexcept = default;

  /// Returns the slot of the calling thread. Only that thread may use it.
  [[nodiscard]] static ErrnoSlot mine() noexcept { return ErrnoSlot(&errno); }

  [[nodiscard]] int get() const noexcept { return *errno_; }
  void set(int error) const noexcept { *errno_ = error; }

 private:
  constexpr explicit ErrnoSlot(int* place) noexcept : errno_(place) {}

  int* errno_ = nullptr;
};

/// Saves errno in the constructor and restores it in the destructor.
class ErrnoGuard {
 public:
  ErrnoGuard() noexcept : ErrnoGuard(ErrnoSlot::mine()) {}
  /// Constructs from the calling thread's slot, without the call to the C library that finds errno.
  explicit ErrnoGuard(ErrnoSlot mine) noexcept : place_(mine), saved_(mine.get()) {}
  ~ErrnoGuard() { place_.set(saved_); }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  ErrnoSlot place_;
  int saved_;
};

}  // namespace alloctap::os
