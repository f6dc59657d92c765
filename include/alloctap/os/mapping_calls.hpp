/// mmap and related calls made without libc's functions, because a hook backend may replace those.
/// Arguments, results and errno are those of the libc functions. May run inside malloc.
#pragma once

#if defined(__linux__)
#include "alloctap/os/linux/mapping_calls.hpp"
#else
#error "alloctap/os/mapping_calls.hpp has no implementation for this system"
#endif
