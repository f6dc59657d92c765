/// Symbol look-up, for the process or as one module sees it.
#pragma once

namespace alloctap::os {

/// Returns the first definition of `name` in the process's look-up order; nullptr if undefined. In
/// a non-PIE program it may be a PLT stub of the program, the canonical address of a function whose
/// address is taken. Calls the loader: control plane.
void* default_symbol(const char* name) noexcept;

/// Returns the definition of `name` that the loaded module at `path` sees; nullptr if it sees no
/// definition or is not loaded. Leaves no dlerror(3) text. Control plane.
void* symbol_seen_by(const char* path, const char* name) noexcept;

/// Prevents the unload of the module that holds `code`, permanently. Does nothing for the main
/// program. Returns false if the loader refuses. Control plane.
bool pin_module(const void* code) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/module_symbols.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/module_symbols.hpp"
#else
#error "alloctap/os/module_symbols.hpp has no implementation for this system"
#endif
