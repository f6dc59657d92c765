#pragma once

#include <cerrno>

namespace alloctap::os {

/// Where a thread has its errno, which takes a call of the C library to find out.
class ErrorPlace {
 public:
  /// Nowhere.
  constexpr ErrorPlace() noexcept = default;

  /// The calling thread's: for itself alone, as long as it lives.
  [[nodiscard]] static ErrorPlace mine() noexcept { return ErrorPlace(&errno); }

  [[nodiscard]] int get() const noexcept { return *errno_; }
  void set(int error) const noexcept { *errno_ = error; }

 private:
  constexpr explicit ErrorPlace(int* place) noexcept : errno_(place) {}

  int* errno_ = nullptr;
};

/// Saves errno where it is made and restores it where it ends.
class ErrorPreserver {
 public:
  ErrorPreserver() noexcept : ErrorPreserver(ErrorPlace::mine()) {}
  /// For who knows the calling thread's place already.
  explicit ErrorPreserver(ErrorPlace mine) noexcept : place_(mine), saved_(mine.get()) {}
  ~ErrorPreserver() { place_.set(saved_); }
  ErrorPreserver(const ErrorPreserver&) = delete;
  ErrorPreserver& operator=(const ErrorPreserver&) = delete;

 private:
  ErrorPlace place_;
  int saved_;
};

}  // namespace alloctap::os
