/// The loader's list of modules.
#pragma once

#include <link.h>

#include <cstdint>
#include <span>

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

/// Numbers of modules loaded and unloaded so far. Every change of the loader's list increases one.
struct LoaderCounts {
  std::uint64_t loaded = 0;
  std::uint64_t unloaded = 0;
  bool operator==(const LoaderCounts&) const = default;
};
LoaderCounts loader_counts() noexcept;

std::uintptr_t executable_address() noexcept;

/// Return the address of the dynamic loader or of the vdso; 0 if the process has no such module.
std::uintptr_t loader_address() noexcept;
std::uintptr_t vdso_address() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/loaded_images.hpp"
#else
#error "alloctap/os/loaded_images.hpp has no implementation for this system"
#endif
