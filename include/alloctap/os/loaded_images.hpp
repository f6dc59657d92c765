/// The modules that the loader has in memory.
#pragma once

#include <link.h>

#include <cstdint>
#include <span>

namespace alloctap::os {

/// One module of the loader's list, valid during the visit. Addresses in the file plus `bias` are
/// addresses in the process.
struct LoadedImage {
  std::uintptr_t bias = 0;
  std::span<const ElfW(Phdr)> segments;
  /// What the loader was asked for, or found; the main program's is empty, and on some systems that
  /// of the vdso.
  const char* name = "";
};

/// Calls `visit(const LoadedImage&)` for each module of this namespace, the main program first,
/// with the loader's list locked: no module is opened or closed meanwhile. `visit` allocates
/// nothing of the host's. A module that another thread is opening may be there before it is
/// relocated. Control plane; never inside malloc.
template <class Visit>
void visit_loaded_images(Visit&& visit) noexcept;

/// How many modules were loaded and unloaded so far: whatever changes the list changes one of them.
struct LoaderCounts {
  std::uint64_t loaded = 0;
  std::uint64_t unloaded = 0;
  bool operator==(const LoaderCounts&) const = default;
};
LoaderCounts loader_counts() noexcept;

/// An address inside the executable.
std::uintptr_t executable_address() noexcept;

/// The address in memory of the loader itself, and of the kernel's own library; 0 where there is
/// none.
std::uintptr_t loader_address() noexcept;
std::uintptr_t vdso_address() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/loaded_images.hpp"
#else
#error "alloctap/os/loaded_images.hpp has no implementation for this system"
#endif
