/// Installation of the tracker's memory fault listeners.
#pragma once

#include "alloctap/os/fault_listeners.hpp"

namespace alloctap::os {

/// Calls `listener` for each memory fault, after the listeners added earlier. If no listener
/// returns kRetry, the handler from before the first listener runs; without such a handler, the
/// process ends with a core dump. Linux has one handler per signal, so a handler that the program
/// installs later replaces the tracker's, but may call `ask_fault_listeners`.
///
/// Returns false if the system refuses, or if `kMaxFaultListeners` are registered. Adding a
/// listener again has no effect. May run inside malloc. errno may change.
bool catch_memory_faults(FaultListener listener) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_faults.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_faults.hpp"
#else
#error "alloctap/os/memory_faults.hpp has no implementation for this system"
#endif
