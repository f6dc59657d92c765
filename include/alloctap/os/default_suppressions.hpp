/// Leak suppressions that the program defines, as for LeakSanitizer.
#pragma once

namespace alloctap::os {

/// Returns the text from the program's `__lsan_default_suppressions`; nullptr if the program has no
/// such function that the loader can find. Calls the program: control plane.
const char* default_suppressions() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/default_suppressions.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/default_suppressions.hpp"
#else
#error "alloctap/os/default_suppressions.hpp has no implementation for this system"
#endif
