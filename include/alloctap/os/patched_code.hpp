/// Support for patched code: traps, unwind information of moved instructions, core synchronization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::os {

/// Returns the address at which a thread that trapped at `place` continues; 0 if the tracker did
/// not place the trap instruction. Runs in a signal or exception handler, on any thread.
using ResumePlace = std::uintptr_t (*)(std::uintptr_t place) noexcept;

/// Calls `resume` for each breakpoint and undefined instruction that a thread executes. All calls
/// must pass an identical `resume`. If `resume` returns 0, the previous handler runs; without such
/// a handler, the process ends. The tracker's handler is permanent. If the program has replaced the
/// tracker's handler, the next call installs it again, in front of the program's handler.
///
/// Returns false if the system refuses. A trap kills the process if the thread blocks SIGTRAP or
/// SIGILL. Control plane; calls must be serialized. errno may change.
bool catch_traps(ResumePlace resume) noexcept;

/// An instruction relocated from `from` to `[to, to_end)`.
struct MovedInstruction {
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  std::uintptr_t to_end = 0;
};

/// Registers unwind information for relocated instructions of one function. Exceptions then unwind
/// from the relocated code as from the original code, but skip exception handlers of the function
/// itself. The registration is permanent and uses `room`, zeroed memory that must stay mapped.
/// Returns true, without an effect, if the system needs no unwind information, or if the function
/// is a leaf without unwind information. Returns false, without an effect, if `room` is too small
/// or the system refuses. Control plane.
bool describe_moved_code(std::span<const MovedInstruction> instructions,
                         std::span<std::byte> room) noexcept;

/// Makes every thread of the process execute a serializing instruction, so that after code was
/// modified, no thread continues with instructions fetched before the call. Returns false if the
/// system cannot do that. Interrupts every running thread. errno may change.
bool synchronize_cores() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/patched_code.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/patched_code.hpp"
#else
#error "alloctap/os/patched_code.hpp has no implementation for this system"
#endif
