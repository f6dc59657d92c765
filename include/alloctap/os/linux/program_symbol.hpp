// glibc's loader binds a program's call to the first definition that has the version which the
// program asks for, or no version. dlsym passes over definitions for old programs alone, as those
// of libc_malloc_debug are, and dlvsym over those without a version, as other allocators' are. So
// both are asked: the one that is not libc.so's own is in front of it.
#pragma once

#include <dlfcn.h>

#include "alloctap/os/malloc_hook_variables.hpp"
#include "alloctap/os/program_symbol.hpp"

namespace alloctap::os {

#if defined(__GLIBC__)

/// Whether both lie in one module.
inline bool in_same_module(const void* first, const void* second) noexcept {
  Dl_info one{};
  Dl_info other{};
  return ::dladdr(first, &one) != 0 && ::dladdr(second, &other) != 0 &&
         one.dli_fbase == other.dli_fbase;
}

/// Of malloc and its family, programs ask for the first version, or for aligned_alloc that of C11.
inline void* program_symbol(const char* name) noexcept {
  void* versioned = oldest_glibc_symbol(name);
  if (versioned == nullptr) versioned = ::dlvsym(RTLD_DEFAULT, name, "GLIBC_2.16");
  void* const in_libc = oldest_glibc_symbol("__libc_start_main");
  if (versioned != nullptr && !in_same_module(versioned, in_libc)) return versioned;
  return ::dlsym(RTLD_DEFAULT, name);
}

#else

inline void* program_symbol(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

#endif

}  // namespace alloctap::os
