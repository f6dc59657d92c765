/// mmap and related calls, made without libc's functions, which a hook backend may replace.
///
/// Arguments, results and errno are those of the libc functions. May run inside malloc.
#pragma once

#include <cstddef>

namespace alloctap::os {

/// Returns true if `result` is the failure value of mmap and mremap.
bool mapping_failed(const void* result) noexcept;

/// Returns true if mremap with these arguments leaves `[old, old + old_length)` mapped.
bool remap_keeps_old(std::size_t old_length, int flags) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/mapping_calls.hpp"
#else
#error "alloctap/os/mapping_calls.hpp has no implementation for this system"
#endif
