/// Scope guard that preserves the program's errno or GetLastError inside the tracker.
#pragma once

#if defined(__linux__)
#include "alloctap/os/linux/errno_guard.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/errno_guard.hpp"
#else
#error "alloctap/os/errno_guard.hpp has no implementation for this system"
#endif
