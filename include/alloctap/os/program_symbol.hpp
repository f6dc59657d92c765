/// Look-up of a symbol as the program's own calls bind it.
#pragma once

namespace alloctap::os {

/// Returns the first definition of `name` in the look-up order of the program's modules. Includes
/// definitions that exist only for old programs (as in glibc's libc_malloc_debug). nullptr if
/// undefined, and in statically linked programs. Calls the loader, which takes its lock and may
/// allocate. Control plane.
void* program_symbol(const char* name) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/program_symbol.hpp"
#else
#error "alloctap/os/program_symbol.hpp has no implementation for this system"
#endif
