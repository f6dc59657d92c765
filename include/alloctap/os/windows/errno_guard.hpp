#pragma once

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Empty: GetLastError needs no address.
struct ErrnoSlot {
  [[nodiscard]] static constexpr ErrnoSlot mine() noexcept { return {}; }
};

/// Saves GetLastError in the constructor and restores it in the destructor. Does not save errno:
/// this folder calls no C library functions that set errno, and reading errno may allocate.
class ErrnoGuard {
 public:
  ErrnoGuard() noexcept = default;
  explicit ErrnoGuard(ErrnoSlot /*mine*/) noexcept {}
  ~ErrnoGuard() { ::SetLastError(saved_); }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  DWORD saved_ = ::GetLastError();
};

}  // namespace alloctap::os
