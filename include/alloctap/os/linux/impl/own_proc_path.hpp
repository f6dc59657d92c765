/// Definitions for os/linux/own_proc_path.hpp.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "alloctap/macros.hpp"
#include "alloctap/os/linux/own_proc_path.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE OwnProcPath::OwnProcPath(const char* name) noexcept {
  char first;
  const bool leader_has_left =
      ::readlink("/proc/self/exe", &first, sizeof first) < 0 && errno == ENOENT;
  std::snprintf(text_, sizeof text_, "/proc/%s/%s", leader_has_left ? "thread-self" : "self", name);
}

}  // namespace alloctap::os
