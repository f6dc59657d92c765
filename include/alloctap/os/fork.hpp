/// Being told of a fork.
#pragma once

namespace alloctap::os {

/// Registers functions that run in the forking thread: `prepare` before, `parent` and `child`
/// after. May allocate through the host's allocator; cannot be undone. False where the system has
/// no memory for it. vfork, posix_spawn and raw clone calls run no handlers.
bool register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)()) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/fork.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/fork.hpp"
#else
#error "alloctap/os/fork.hpp has no implementation for this system"
#endif
