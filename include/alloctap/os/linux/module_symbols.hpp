#pragma once

#include <dlfcn.h>

#include "alloctap/os/module_symbols.hpp"

namespace alloctap::os {

inline void* default_symbol(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

inline void* symbol_seen_by(const char* path, const char* name) noexcept {
  void* const handle = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  void* const symbol = handle == nullptr ? nullptr : ::dlsym(handle, name);
  if (handle != nullptr) ::dlclose(handle);
  // The program would take the error for its own. The text of one that was told is freed by the
  // next call.
  while (::dlerror() != nullptr) {
  }
  return symbol;
}

inline bool pin_module(const void* code) noexcept {
  Dl_info info{};
  if (::dladdr(code, &info) == 0) return false;
  void* const handle = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  // The main program is not known by its path, and stays anyway.
  if (handle != nullptr) ::dlclose(handle);
  return true;
}

}  // namespace alloctap::os
