/// Lookup of the next definition of a symbol, as by RTLD_NEXT.
#pragma once

namespace alloctap::os {

/// Returns the next definition of `name` after the calling module in lookup order; nullptr if no
/// other exists. Calls the loader, which takes its lock and may allocate. Control plane; otherwise
/// only if the bootstrap arena serves the thread's allocations.
void* next_symbol(const char* name) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/next_symbol.hpp"
#else
#error "alloctap/os/next_symbol.hpp has no implementation for this system"
#endif
