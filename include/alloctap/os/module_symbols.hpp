/// Lookup of symbols, by the process's lookup order or as one module sees them.
#pragma once

namespace alloctap::os {

/// Returns the first definition of `name` in the process's lookup order; nullptr if undefined. In a
/// non-PIE program whose code takes the function's address, the result may be the program's PLT
/// stub, which is the canonical address. Control plane, because it calls the loader.
void* default_symbol(const char* name) noexcept;

/// Returns the definition of `name` to which the module at `path` binds; nullptr if undefined or if
/// the module is not loaded. Leaves no dlerror(3) text. Control plane.
void* symbol_seen_by(const char* path, const char* name) noexcept;

/// Permanently prevents unloading of the module that contains `code`. Does nothing for the main
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
