#pragma once

#include <dlfcn.h>

#include "alloctap/os/linux/next_symbol.hpp"
#include "alloctap/os/module_symbols.hpp"

namespace alloctap::os {

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
  // dlopen does not find the main program by its path, but that is never unloaded.
  if (handle != nullptr) ::dlclose(handle);
  return true;
}

}  // namespace alloctap::os
