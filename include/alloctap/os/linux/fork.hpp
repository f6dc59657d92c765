#pragma once

#include <pthread.h>

#include "alloctap/os/fork.hpp"

namespace alloctap::os {

inline bool register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)()) noexcept {
  return ::pthread_atfork(prepare, parent, child) == 0;
}

}  // namespace alloctap::os
