/// Cross-core instruction synchronization, needed after code was modified.
#pragma once

namespace alloctap::os {

/// Makes every thread of the process execute a serializing instruction, so that no thread continues
/// with instructions fetched before the call. Returns false if the system cannot do that.
/// Interrupts every running thread. errno may change.
bool synchronize_cores() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/core_synchronization.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/core_synchronization.hpp"
#else
#error "alloctap/os/core_synchronization.hpp has no implementation for this system"
#endif
