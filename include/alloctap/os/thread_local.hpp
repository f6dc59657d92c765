/// `ThreadLocal`, usable inside malloc, and `ErrnoGuard`, which preserves errno or GetLastError.
#pragma once

#if defined(__linux__)
#include "alloctap/os/linux/thread_local.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/thread_local.hpp"
#else
#error "alloctap/os/thread_local.hpp has no implementation for this system"
#endif
