#pragma once

#include <cerrno>

namespace alloctap::os {

/// Where a thread has its errno, which takes a call of the C library to find out.
class ErrnoSlot {
 public:
  /// Nowhere.
  constexpr ErrnoSlot() noexcept = default;

  /// The calling thread's: for itself alone, as long as it lives.
  [[nodiscard]] static ErrnoSlot mine() noexcept { return ErrnoSlot(&errno); }

  [[nodiscard]] int get() const noexcept { return *errno_; }
  void set(int error) const noexcept { *errno_ = error; }

 private:
  constexpr explicit ErrnoSlot(int* place) noexcept : errno_(place) {}

  int* errno_ = nullptr;
};

/// Saves errno where it is made and restores it where it ends.
class ErrnoGuard {
 public:
  ErrnoGuard() noexcept : ErrnoGuard(ErrnoSlot::mine()) {}
  /// For who knows the calling thread's place already.
  explicit ErrnoGuard(ErrnoSlot mine) noexcept : place_(mine), saved_(mine.get()) {}
  ~ErrnoGuard() { place_.set(saved_); }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  ErrnoSlot place_;
  int saved_;
};

}  // namespace alloctap::os
