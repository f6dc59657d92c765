/// Malloc hook variables of glibc and bionic. The glibc manual up to 2.33 documents them in
/// "Replacing malloc". Since 2.34 (NEWS) only libc_malloc_debug uses them. First symbol versions:
/// shlib-versions in sysdeps. bionic: libc/malloc_hooks/README.md.
#pragma once

#include <dlfcn.h>
#include <sys/auxv.h>

#include "alloctap/os/malloc_hook_variables.hpp"

#if defined(__BIONIC__)
#include <malloc.h>
#endif

namespace alloctap::os {

#if defined(__BIONIC__) && __ANDROID_API__ >= 28

inline MallocHookVariables bionic_hook_variables() noexcept {
  return {.malloc = const_cast<MallocHook**>(&::__malloc_hook),
          .realloc = const_cast<ReallocHook**>(&::__realloc_hook),
          .free = const_cast<FreeHook**>(&::__free_hook),
          .memalign = const_cast<MemalignHook**>(&::__memalign_hook)};
}

#else

inline MallocHookVariables bionic_hook_variables() noexcept { return {}; }

#endif

#if defined(__GLIBC__)

inline void* oldest_glibc_symbol(const char* name) noexcept {
#if defined(__x86_64__) && !defined(__ILP32__)
  constexpr const char* kFirstVersion = "GLIBC_2.2.5";
#elif defined(__aarch64__)
  constexpr const char* kFirstVersion = "GLIBC_2.17";
#else
  constexpr const char* kFirstVersion = "GLIBC_2.0";
#endif
  return ::dlvsym(RTLD_DEFAULT, name, kFirstVersion);
}

#else

inline void* oldest_glibc_symbol(const char*) noexcept { return nullptr; }

#endif

inline std::string_view module_path(const void* address) noexcept {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

inline bool is_static_executable() noexcept { return ::getauxval(AT_BASE) == 0; }

}  // namespace alloctap::os
