/// Serialization of instruction fetch on all threads, for code that was modified.
#pragma once

namespace alloctap::os {

/// Has every thread of the process execute a serializing instruction: none keeps running
/// instructions that were fetched before the call. Returns false if the system cannot do that.
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
