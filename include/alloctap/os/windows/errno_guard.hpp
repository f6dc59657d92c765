#pragma once

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Windows finds the calling thread's error by itself.
struct ErrnoSlot {
  [[nodiscard]] static constexpr ErrnoSlot mine() noexcept { return {}; }
};

/// Saves what GetLastError says where it is made and restores it where it ends. errno is the C
/// library's, which the functions of this folder do not call; asking for it may allocate.
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
