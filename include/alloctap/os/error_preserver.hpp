/// Keeps the error number of the program's last system call across the tracker's own work.
#pragma once

#if defined(__linux__)
#include "alloctap/os/linux/error_preserver.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/error_preserver.hpp"
#else
#error "alloctap/os/error_preserver.hpp has no implementation for this system"
#endif
