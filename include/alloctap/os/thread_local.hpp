/// Thread-local storage that is usable inside malloc, and the guard that preserves errno.
#pragma once

// Thread-local storage that is usable inside malloc: `ThreadLocal<T, Owner>`.

// Scope guard that preserves the program's errno or GetLastError inside the tracker.

#if defined(__linux__)
#include "alloctap/os/linux/thread_local.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/thread_local.hpp"
#else
#error "alloctap/os/thread_local.hpp has no implementation for this system"
#endif
