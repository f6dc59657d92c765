#pragma once

#include <dlfcn.h>

#include "alloctap/os/next_symbol.hpp"

namespace alloctap::os {

/// The program would take the error of a failed look-up for its own. The text of one that was told
/// is freed by the next call.
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
