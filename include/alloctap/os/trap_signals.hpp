/// What happens to a thread that executes a trapping instruction.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Where a thread that trapped at `place` goes on; 0 if that trap is another's. Runs in a signal
/// handler, on any thread.
using ResumePlace = std::uintptr_t (*)(std::uintptr_t place) noexcept;

/// Has `resume`, the same in every call, asked for each breakpoint and each undefined instruction
/// that a thread meets. Other traps take the way that they took before: to the handler that was
/// there, or to the end of the process. The handler stays for ever; one that was installed over it
/// gets its traps after it, from the next call on.
///
/// False where the system refuses. A thread that blocks these signals dies of a trap. Control
/// plane, one call at a time. errno may change.
bool catch_traps(ResumePlace resume) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/trap_signals.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/trap_signals.hpp"
#else
#error "alloctap/os/trap_signals.hpp has no implementation for this system"
#endif
