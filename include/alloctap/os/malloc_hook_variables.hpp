/// `__malloc_hook` and related variables of some C libraries, and functions that find them.
#pragma once

#include <cstddef>
#include <string_view>

namespace alloctap::os {

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

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/malloc_hook_variables.hpp"
#else
#error "alloctap/os/malloc_hook_variables.hpp has no implementation for this system"
#endif
