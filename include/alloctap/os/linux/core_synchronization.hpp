/// Core serialization by membarrier(2), since Linux 4.16. Defines numbers that old headers lack.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include "alloctap/os/core_synchronization.hpp"

namespace alloctap::os {

inline bool synchronize_cores() noexcept {
  constexpr int kPrivateExpeditedSyncCore = 1 << 5;
  constexpr int kRegisterPrivateExpeditedSyncCore = 1 << 6;
  if (::syscall(SYS_membarrier, kPrivateExpeditedSyncCore, 0, 0) == 0) return true;
  return ::syscall(SYS_membarrier, kRegisterPrivateExpeditedSyncCore, 0, 0) == 0 &&
         ::syscall(SYS_membarrier, kPrivateExpeditedSyncCore, 0, 0) == 0;
}

}  // namespace alloctap::os
