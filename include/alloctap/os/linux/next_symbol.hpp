#pragma once

#include <dlfcn.h>

#include "alloctap/os/next_symbol.hpp"

namespace alloctap::os {

/// Clears dlerror, so that the program does not see the error of our look-up. The call after the
/// one that returned a text frees it.
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
