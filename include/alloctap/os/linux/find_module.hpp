/// Module lookup from three sources. `_dl_find_object` (glibc 2.35 and newer) reads the loader's
/// table without a lock in some 20 ns. The table lacks the vdso, which is checked separately. Older
/// systems read the memory map in some 50 us, so callers cache results.
#pragma once

#include <cstdint>

#include "alloctap/os/find_module.hpp"

namespace alloctap::os {

/// Finds the module in the memory map: the last file mapped from its first byte at or below
/// `address`. Returns an empty module if that file's mappings do not reach `address`.
LoadedModule find_module_in_memory_map(std::uintptr_t address) noexcept;

/// Returns the vdso if it contains `address`. Trusts the program headers that the kernel wrote.
LoadedModule find_vdso(std::uintptr_t address) noexcept;

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/find_module.hpp"
#endif
