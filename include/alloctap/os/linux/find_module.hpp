/// Module look-up from three sources. `_dl_find_object` (glibc 2.35 and newer) reads the loader's
/// table without a lock in some 20 ns, but lacks the vdso, which the kernel maps. Without it, the
/// kernel's list of mappings is read in some 50 us: callers cache the results.
#pragma once

#include <cstdint>

#include "alloctap/os/find_module.hpp"

namespace alloctap::os {

/// Finds the module in the kernel's list of mappings: the last file at or below `address` whose
/// first byte is mapped, if it reaches `address`.
LoadedModule find_module_in_memory_map(std::uintptr_t address) noexcept;

/// Returns the vdso if it holds `address`. Its program headers are valid.
LoadedModule find_vdso(std::uintptr_t address) noexcept;

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/find_module.hpp"
#endif
