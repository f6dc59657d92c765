#pragma once

#include <dlfcn.h>

#include "alloctap/os/next_symbol.hpp"

namespace alloctap::os {

/// Clears the dlerror text of a failed lookup, so that the program does not see it. Loops because
/// the text is freed only by the call after the one that returned it.
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
