/// Lookup of the definition of a symbol that the program's own calls are bound to.
#pragma once

namespace alloctap::os {

/// Returns the first definition of `name` in the lookup order of the program's modules; nullptr if
/// undefined or if the program is statically linked. Includes definitions that exist only for old
/// programs, as in glibc's libc_malloc_debug. Control plane: the loader locks and may allocate.
void* program_symbol(const char* name) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/program_symbol.hpp"
#else
#error "alloctap/os/program_symbol.hpp has no implementation for this system"
#endif
