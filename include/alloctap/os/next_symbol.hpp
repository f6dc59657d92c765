/// Symbols of the Linux loader: next definitions, those that the program binds to, malloc hooks.
#pragma once

#include <cstddef>
#include <string_view>

namespace alloctap::os {

// Lookup of the next definition of a symbol, as by RTLD_NEXT.

/// Returns the next definition of `name` after the calling module in lookup order; nullptr if no
/// other exists. Calls the loader, which takes its lock and may allocate. Control plane; otherwise
/// only if the bootstrap arena serves the thread's allocations.
void* next_symbol(const char* name) noexcept;

// `__malloc_hook` and related variables of some C libraries, and functions that find them.

using MallocHook = void*(std::size_t size, const void* caller);
using ReallocHook = void*(void* old, std::size_t size, const void* caller);
using FreeHook = void(void* block, const void* caller);
using MemalignHook = void*(std::size_t alignment, std::size_t size, const void* caller);

/// Addresses of `__malloc_hook` and related variables. Each variable holds a function or nullptr.
struct MallocHookVariables {
  MallocHook** malloc = nullptr;
  ReallocHook** realloc = nullptr;
  FreeHook** free = nullptr;
  MemalignHook** memalign = nullptr;

  [[nodiscard]] bool complete() const noexcept {
    return malloc != nullptr && realloc != nullptr && free != nullptr && memalign != nullptr;
  }
};

/// Returns bionic's variables, since API level 28; an empty object for other C libraries.
MallocHookVariables bionic_hook_variables() noexcept;

/// Returns the address of the oldest version of glibc's symbol `name` for this architecture;
/// nullptr if undefined or not glibc. Unlike dlsym, finds symbols that glibc keeps only for old
/// programs. Control plane, because it calls the loader.
void* oldest_glibc_symbol(const char* name) noexcept;

/// Returns the loader's path of the module that contains `address`; "" if unknown. The path is
/// valid while the module is loaded. Control plane, because it calls the loader.
std::string_view module_path(const void* address) noexcept;

/// Returns true if the executable is linked statically, so that the process started without a
/// loader.
bool is_static_executable() noexcept;

// Lookup of the definition of a symbol that the program's own calls are bound to.

/// Returns the first definition of `name` in the lookup order of the program's modules; nullptr if
/// undefined or if the program is statically linked. Includes definitions that exist only for old
/// programs, as in glibc's libc_malloc_debug. Control plane: the loader locks and may allocate.
void* program_symbol(const char* name) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/next_symbol.hpp"
#else
#error "alloctap/os/next_symbol.hpp has no implementation for this system"
#endif
