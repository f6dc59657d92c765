/// Making every thread see code that was changed.
#pragma once

namespace alloctap::os {

/// When it returns true, every thread of the process has executed a serializing instruction since
/// the call began: none goes on with instructions that were fetched before. False where the system
/// cannot do that. Costs an interruption of every running thread. errno may change.
bool synchronize_cores() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/core_synchronization.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/core_synchronization.hpp"
#else
#error "alloctap/os/core_synchronization.hpp has no implementation for this system"
#endif
