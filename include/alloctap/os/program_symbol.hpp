/// The function that a program's calls of a name reach.
#pragma once

namespace alloctap::os {

/// The address of `name` as the program's modules see it: the first definition in the order of
/// symbol look-up, a definition for old programs alone included where it stands in front (as in
/// glibc's libc_malloc_debug). nullptr where there is none, and in programs that are linked
/// statically. Asks the loader: takes its lock and may allocate. Control plane.
void* program_symbol(const char* name) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/program_symbol.hpp"
#else
#error "alloctap/os/program_symbol.hpp has no implementation for this system"
#endif
