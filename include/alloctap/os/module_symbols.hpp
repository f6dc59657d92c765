/// Symbols as a module sees them.
#pragma once

namespace alloctap::os {

/// The definition of `name` that comes first in the order of the whole process; nullptr if none.
/// In a program that is not position-independent this may be a stub of that program, which stands
/// for a function whose address is taken. Asks the loader: control plane.
void* default_symbol(const char* name) noexcept;

/// The definition of `name` that the loaded module at `path` sees; nullptr where it sees none or is
/// not loaded. dlerror(3) has nothing to tell afterwards. Control plane.
void* symbol_seen_by(const char* path, const char* name) noexcept;

/// Keeps the module that holds `code` in memory for ever; does nothing for the main program. False
/// where the loader refuses. Control plane.
bool pin_module(const void* code) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/module_symbols.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/module_symbols.hpp"
#else
#error "alloctap/os/module_symbols.hpp has no implementation for this system"
#endif
