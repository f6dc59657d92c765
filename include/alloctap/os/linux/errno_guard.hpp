#pragma once

#include <cerrno>

namespace alloctap::os {

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
