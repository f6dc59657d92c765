// Three sources. The loader's own table (glibc 2.35 and newer) is read without a lock and takes
// some 20 ns. It does not know the vdso, which the kernel maps. Where the loader has no such table,
// the kernel's list of mappings has it all, for some 50 us: callers keep what they find.
#pragma once

#include <cstdint>

#include "alloctap/os/find_module.hpp"

namespace alloctap::os {

/// By the kernel's list of mappings: the last file that began at or below `address`, with its first
/// byte, is the one that holds it, if any does.
LoadedModule find_module_in_memory_map(std::uintptr_t address) noexcept;

/// The kernel's own little library, whose headers are right.
LoadedModule find_vdso(std::uintptr_t address) noexcept;

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/find_module.hpp"
#endif
