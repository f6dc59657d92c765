#pragma once

#include "alloctap/os/core_synchronization.hpp"
#include "alloctap/os/windows/process_barrier.hpp"

namespace alloctap::os {

inline bool synchronize_cores() noexcept {
  if (!has_process_barrier()) return false;
  ::FlushProcessWriteBuffers();
  return true;
}

}  // namespace alloctap::os
