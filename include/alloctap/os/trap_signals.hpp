/// Handling of trap instructions (breakpoints and undefined instructions) by the tracker.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Returns the address at which a thread that trapped at `place` continues; 0 if the tracker did
/// not place the trap instruction. Runs in a signal or exception handler, on any thread.
using ResumePlace = std::uintptr_t (*)(std::uintptr_t place) noexcept;

/// Calls `resume` for each breakpoint and undefined instruction that a thread executes. All calls
/// must pass an identical `resume`. If `resume` returns 0, the previous handler runs; without such
/// a handler, the process ends. The tracker's handler is permanent. If the program has replaced it,
/// the next call installs it again in front of the program's.
///
/// Returns false if the system refuses. A thread that blocks SIGTRAP or SIGILL is killed by a trap.
/// Control plane; calls must be serialized. errno may change.
bool catch_traps(ResumePlace resume) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/trap_signals.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/trap_signals.hpp"
#else
#error "alloctap/os/trap_signals.hpp has no implementation for this system"
#endif
