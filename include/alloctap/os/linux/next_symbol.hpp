#pragma once

#include <dlfcn.h>

#include "alloctap/os/next_symbol.hpp"

namespace alloctap::os {

inline void* next_symbol(const char* name) noexcept { return ::dlsym(RTLD_NEXT, name); }

}  // namespace alloctap::os
