/// Module lookup by the loader's table or the memory map, and symbol lookup by dlsym(3).
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <cstdint>

#include "alloctap/os/linux/loaded_images.hpp"
#include "alloctap/os/module_symbols.hpp"

namespace alloctap::os {

// `find_module` calls `_dl_find_object` (glibc 2.35 and newer), which reads the loader's table
// without a lock in some 20 ns. The table lacks the vdso, which is checked separately. Older
// systems read the memory map in some 50 us, so callers cache results.

/// Finds the module in the memory map: it begins at the highest mapping, at or below `address`, of
/// a file's first byte. Returns an empty module if that file's mappings do not reach `address`.
LoadedModule find_module_in_memory_map(std::uintptr_t address) noexcept;

/// Returns the vdso if it contains `address`. Trusts the program headers that the kernel wrote.
LoadedModule find_vdso(std::uintptr_t address) noexcept;

inline void* default_symbol(const char* name) noexcept {
  void* const symbol = ::dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr) forget_loader_error();
  return symbol;
}

inline void* symbol_seen_by(const char* path, const char* name) noexcept {
  void* const handle = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  void* const symbol = handle == nullptr ? nullptr : ::dlsym(handle, name);
  if (handle != nullptr) ::dlclose(handle);
  forget_loader_error();
  return symbol;
}

inline bool pin_module(const void* code) noexcept {
  Dl_info info{};
  if (::dladdr(code, &info) == 0) return false;
  void* const handle = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  // dlopen does not find the main program by its path, but the main program is never unloaded.
  if (handle != nullptr) ::dlclose(handle);
  return true;
}

inline FunctionSymbol find_function_symbol(const void* address) noexcept {
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  void** const out = reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol));
  if (::dladdr1(address, &info, out, RTLD_DL_SYMENT) == 0) return {};
  if (symbol == nullptr || info.dli_saddr != address) return {};
  return {info.dli_sname, symbol->st_size};
}

/// The loader notifies only debuggers, so backends hook dlopen and dlclose instead.
inline constexpr bool kLoaderGivesNotice = false;

inline int ModuleNotices::start() noexcept { return -ENOSYS; }
inline void ModuleNotices::stop() noexcept {}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/module_symbols.hpp"
#endif
