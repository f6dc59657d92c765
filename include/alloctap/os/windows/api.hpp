/// windows.h and winternl.h, which no other file includes, and the owner of a handle.
#pragma once

#include <utility>

#include "alloctap/macros.hpp"

// macros.hpp defines macros that select what windows.h declares.
#include <windows.h>
// winternl.h requires windows.h.
#include <winternl.h>

namespace alloctap::os {

/// An owned handle. Move-only.
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(HANDLE handle) noexcept : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() {
    if (handle_ != nullptr) ::CloseHandle(handle_);
  }

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] HANDLE get() const noexcept { return handle_; }
  /// Returns the handle and gives up its ownership.
  [[nodiscard]] HANDLE release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  HANDLE handle_ = nullptr;
};

}  // namespace alloctap::os
