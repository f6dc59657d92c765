/// Throwing from code that may be compiled without exceptions.
#pragma once

namespace alloctap::os {

/// Throws std::bad_alloc through the C++ library, which ends the process where nothing can catch.
[[noreturn]] void throw_bad_alloc();

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/throw_bad_alloc.hpp"
#else
#error "alloctap/os/throw_bad_alloc.hpp has no implementation for this system"
#endif
