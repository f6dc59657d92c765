/// Program symbols in glibc. The loader binds a program's call to the first definition that has the
/// requested version, or no version. dlsym skips definitions for old programs, such as those of
/// libc_malloc_debug. dlvsym skips definitions without a version, such as those of other
/// allocators. So both are called; the result whose module comes first is used.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/linux/next_symbol.hpp"
#include "alloctap/os/malloc_hook_variables.hpp"
#include "alloctap/os/program_symbol.hpp"

namespace alloctap::os {

#if defined(__GLIBC__)

/// Returns the address, of the two, whose module comes first in lookup order.
inline void* in_first_module(void* one, void* other) noexcept {
  struct Search {
    void* const addresses[2];
    void* found = nullptr;
  } search{.addresses = {one, other}};
  const auto look = [](dl_phdr_info* module, std::size_t, void* argument) {
    auto& wanted = *static_cast<Search*>(argument);
    const std::span segments(module->dlpi_phdr, module->dlpi_phnum);
    for (void* address : wanted.addresses) {
      const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - module->dlpi_addr;
      const bool inside = std::any_of(segments.begin(), segments.end(), [&](const auto& segment) {
        return segment.p_type == PT_LOAD && offset - segment.p_vaddr < segment.p_memsz;
      });
      if (inside) wanted.found = address;
    }
    return wanted.found != nullptr ? 1 : 0;
  };
  ::dl_iterate_phdr(look, &search);
  return search.found;
}

/// For the malloc family, looks up the version that programs use: the first version of the symbol;
/// for aligned_alloc, that of C11.
inline void* program_symbol(const char* name) noexcept {
  void* versioned = oldest_glibc_symbol(name);
  if (versioned == nullptr) versioned = ::dlvsym(RTLD_DEFAULT, name, "GLIBC_2.16");
  void* const other = ::dlsym(RTLD_DEFAULT, name);
  forget_loader_error();
  if (versioned == nullptr || versioned == other) return other;
  return in_first_module(other, versioned);
}

#else

inline void* program_symbol(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

#endif

}  // namespace alloctap::os
