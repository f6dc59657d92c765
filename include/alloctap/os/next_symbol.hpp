/// The definition of a symbol behind one's own.
#pragma once

namespace alloctap::os {

/// The address of the next definition of `name` after the calling module in the order of symbol
/// look-up, or nullptr. Asks the loader: takes its lock and may allocate. Control plane, or a
/// thread whose allocations are served by the bootstrap arena.
void* next_symbol(const char* name) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/next_symbol.hpp"
#else
#error "alloctap/os/next_symbol.hpp has no implementation for this system"
#endif
