/// Access to leak suppressions that the program defines as for LeakSanitizer.
#pragma once

namespace alloctap::os {

/// Returns the result of the program's function `__lsan_default_suppressions`; nullptr if the
/// loader finds no such function. Control plane, because it calls the program.
const char* default_suppressions() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/default_suppressions.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/default_suppressions.hpp"
#else
#error "alloctap/os/default_suppressions.hpp has no implementation for this system"
#endif
