/// Module list by dl_iterate_phdr(3), symbols by dlsym(3) and dlvsym(3), and malloc hooks.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "alloctap/os/loaded_images.hpp"

namespace alloctap::os {

template <class Visit>
void visit_loaded_images(Visit&& visit) noexcept {
  using Function = std::remove_reference_t<Visit>;
  const auto call = [](dl_phdr_info* info, std::size_t, void* function) {
    (*static_cast<Function*>(function))(
        LoadedImage{.bias = info->dlpi_addr,
                    .segments = {info->dlpi_phdr, info->dlpi_phnum},
                    .name = info->dlpi_name == nullptr ? "" : info->dlpi_name});
    return 0;
  };
  ::dl_iterate_phdr(call, const_cast<std::remove_const_t<Function>*>(&visit));
}

/// glibc lists and counts a module before relocating it.
inline LoaderCounts loader_counts() noexcept {
  LoaderCounts counts;
  const auto call = [](dl_phdr_info* info, std::size_t, void* result) {
    *static_cast<LoaderCounts*>(result) = {info->dlpi_adds, info->dlpi_subs};
    return 1;
  };
  ::dl_iterate_phdr(call, &counts);
  return counts;
}

inline std::uintptr_t executable_address() noexcept { return ::getauxval(AT_PHDR); }
inline std::uintptr_t loader_address() noexcept { return ::getauxval(AT_BASE); }
inline std::uintptr_t vdso_address() noexcept { return ::getauxval(AT_SYSINFO_EHDR); }

/// Clears the dlerror text of a failed lookup, so that the program does not see it. Loops, because
/// dlerror frees a text only in the call after the one that returned the text.
inline void forget_loader_error() noexcept {
  while (::dlerror() != nullptr) {
  }
}

inline void* next_symbol(const char* name) noexcept {
  void* const symbol = ::dlsym(RTLD_NEXT, name);
  if (symbol == nullptr) forget_loader_error();
  return symbol;
}

}  // namespace alloctap::os

#if defined(__BIONIC__)
#include <malloc.h>
#endif

namespace alloctap::os {

// Sources on the malloc hook variables: glibc's manual up to 2.33, "Replacing malloc", and NEWS of
// 2.34, since which only libc_malloc_debug uses them; bionic's libc/malloc_hooks/README.md.

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

/// The first symbol versions are from shlib-versions in glibc's sysdeps.
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

#if defined(__GLIBC__)

/// Returns `one` or `other`: the address whose module comes first in lookup order.
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

/// The loader binds a program's call to the first definition that has the requested version, or no
/// version. dlsym skips definitions for old programs, such as those of libc_malloc_debug; dlvsym
/// skips definitions without a version, such as those of other allocators. So calls both, and
/// returns the result whose module comes first. Programs request the functions of the malloc family
/// in their first versions: glibc's first one, or 2.16 for aligned_alloc.
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
