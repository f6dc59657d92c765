/// What happens to a thread that touches memory that it may not.
#pragma once

#include "alloctap/os/fault_listeners.hpp"

namespace alloctap::os {

/// Has `listener` asked of each fault, after those that were added before it. Faults that no
/// listener retries are handled as before: by the handler that was there when the first listener
/// was added, or by the end of the process, with a core dump. A handler of the program's that
/// is installed later takes our place on Linux, where there is one for each signal; it may call
/// `ask_fault_listeners` itself.
///
/// False where the system refuses, or `kMaxFaultListeners` are there. The same listener counts
/// once. Inside malloc. errno may change.
bool catch_memory_faults(FaultListener listener) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_faults.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_faults.hpp"
#else
#error "alloctap/os/memory_faults.hpp has no implementation for this system"
#endif
