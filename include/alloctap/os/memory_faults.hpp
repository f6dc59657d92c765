/// Handling of memory faults by the tracker's listeners.
#pragma once

#include "alloctap/os/fault_listeners.hpp"

namespace alloctap::os {

/// Calls `listener` for each fault, after the listeners added earlier. Faults that no listener
/// retries go to the handler installed before the first listener, or end the process with a core
/// dump. On Linux, with one handler for each signal, a handler that the program installs later
/// replaces ours; it may call `ask_fault_listeners` itself.
///
/// Returns false if the system refuses, or `kMaxFaultListeners` are registered. Adding a listener
/// again has no effect. Inside malloc. errno may change.
bool catch_memory_faults(FaultListener listener) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_faults.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_faults.hpp"
#else
#error "alloctap/os/memory_faults.hpp has no implementation for this system"
#endif
