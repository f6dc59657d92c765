/// The variables through which some C libraries let malloc be replaced, and how they are found.
#pragma once

#include <cstddef>
#include <string_view>

namespace alloctap::os {

using MallocHook = void*(std::size_t size, const void* caller);
using ReallocHook = void*(void* old, std::size_t size, const void* caller);
using FreeHook = void(void* block, const void* caller);
using MemalignHook = void*(std::size_t alignment, std::size_t size, const void* caller);

/// Where `__malloc_hook` and its relatives are. Each holds a function, or nullptr.
struct MallocHookVariables {
  MallocHook** malloc = nullptr;
  ReallocHook** realloc = nullptr;
  FreeHook** free = nullptr;
  MemalignHook** memalign = nullptr;

  [[nodiscard]] bool complete() const noexcept {
    return malloc != nullptr && realloc != nullptr && free != nullptr && memalign != nullptr;
  }
};

/// bionic's, from API level 28 on; none in other C libraries.
MallocHookVariables bionic_hook_variables() noexcept;

/// The address of `name` in the version that glibc gave it on this architecture first; nullptr
/// where there is none, or another C library. Symbols that glibc keeps for old programs alone are
/// found by this and not by dlsym. Asks the loader: control plane.
void* oldest_glibc_symbol(const char* name) noexcept;

/// The file that holds `address`, as the loader knows it; empty where there is none. Lives as long
/// as the module is loaded. Asks the loader: control plane.
std::string_view module_path(const void* address) noexcept;

/// Whether no loader was there when the process started: an executable that is linked statically.
bool is_static_executable() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/malloc_hook_variables.hpp"
#else
#error "alloctap/os/malloc_hook_variables.hpp has no implementation for this system"
#endif
