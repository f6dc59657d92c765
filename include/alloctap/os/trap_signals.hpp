/// Handling of trapping instructions by the tracker.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Returns the address at which a thread that trapped at `place` resumes; 0 if the trap is not
/// ours. Runs in a signal or exception handler, on any thread.
using ResumePlace = std::uintptr_t (*)(std::uintptr_t place) noexcept;

/// Calls `resume` for each breakpoint and undefined instruction that a thread executes. All calls
/// must pass one `resume`. Other traps go to the previous handler or end the process. The handler
/// is permanent. If another handler replaced it, the next call installs ours in front of that one.
///
/// Returns false if the system refuses. A thread that blocks SIGTRAP or SIGILL dies of a trap.
/// Control plane, one call at a time. errno may change.
bool catch_traps(ResumePlace resume) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/trap_signals.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/trap_signals.hpp"
#else
#error "alloctap/os/trap_signals.hpp has no implementation for this system"
#endif
