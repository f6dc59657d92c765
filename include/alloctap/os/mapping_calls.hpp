/// mmap and its relatives without the libc symbols, which a backend may replace. Same arguments,
/// results and errno as the functions of that name; may run inside malloc.
#pragma once

#if defined(__linux__)
#include "alloctap/os/linux/mapping_calls.hpp"
#else
#error "alloctap/os/mapping_calls.hpp has no implementation for this system"
#endif
