/// Registration of fork handlers.
#pragma once

namespace alloctap::os {

/// Registers functions that run in the forking thread: `prepare` before the fork, `parent` and
/// `child` after it. Cannot be undone. Returns false if out of memory. May allocate by malloc.
/// vfork, posix_spawn and raw clone calls do not run the functions.
bool register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)()) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/fork.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/fork.hpp"
#else
#error "alloctap/os/fork.hpp has no implementation for this system"
#endif
