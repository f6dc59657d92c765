/// Modules of the loader's list, definitions of their symbols, and malloc hooks. Linux only.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap::os {

/// One module of the loader's list, valid during the visit. An address in the file plus `bias` is
/// an address in the process.
struct LoadedImage {
  std::uintptr_t bias = 0;
  std::span<const ElfW(Phdr)> segments;
  /// Path under which the loader opened the module. Empty for the main program and, on some
  /// systems, for the vdso.
  const char* name = "";
};

/// Calls `visit(const LoadedImage&)` for each module of this linker namespace, the main program
/// first. Holds the loader's lock, so no module is loaded or unloaded meanwhile. `visit` must not
/// call malloc. A module that another thread is loading may appear before it is relocated. Control
/// plane; never inside malloc.
template <class Visit>
void visit_loaded_images(Visit&& visit) noexcept;

/// Numbers of modules loaded and unloaded so far. Each change of the loader's list increases one
/// number.
struct LoaderCounts {
  std::uint64_t loaded = 0;
  std::uint64_t unloaded = 0;
  bool operator==(const LoaderCounts&) const = default;
};
LoaderCounts loader_counts() noexcept;

std::uintptr_t executable_address() noexcept;

/// Return the addresses of the dynamic loader and of the vdso; 0 if the process has no such module.
std::uintptr_t loader_address() noexcept;
std::uintptr_t vdso_address() noexcept;

/// Returns the next definition of `name` after the calling module in lookup order, as RTLD_NEXT
/// does; nullptr if no other exists. Calls the loader, which takes its lock and may allocate.
/// Control plane; inside malloc, only while the bootstrap arena serves the thread's allocations.
void* next_symbol(const char* name) noexcept;

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

/// Returns the addresses of bionic's variables, which exist since API level 28. Returns an empty
/// object for other C libraries.
MallocHookVariables bionic_hook_variables() noexcept;

/// Returns the address of the oldest version of glibc's symbol `name` for this architecture;
/// nullptr if undefined, or if the C library is not glibc. Unlike dlsym, finds compatibility
/// symbols, which glibc exports only for old programs. Control plane, because it calls the loader.
void* oldest_glibc_symbol(const char* name) noexcept;

/// Returns the loader's path of the module that contains `address`; "" if unknown. The path is
/// valid while the module is loaded. Control plane, because it calls the loader.
std::string_view module_path(const void* address) noexcept;

/// Returns true if the executable is linked statically: such a process starts without a loader.
bool is_static_executable() noexcept;

/// Returns the definition that the program's calls of `name` are bound to: the first one in the
/// lookup order of the program's modules. Returns nullptr if undefined or if the program is
/// statically linked. Finds compatibility symbols, too, as in glibc's libc_malloc_debug. Control
/// plane: the loader locks and may allocate.
void* program_symbol(const char* name) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/loaded_images.hpp"
#else
#error "alloctap/os/loaded_images.hpp has no implementation for this system"
#endif
