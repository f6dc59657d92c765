/// Unwind information for relocated instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::os {

/// An instruction relocated from `from` to `[to, to_end)`.
struct MovedInstruction {
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  std::uintptr_t to_end = 0;
};

/// Registers unwind information for relocated instructions of one function. Exceptions then unwind
/// from the relocated code as from the original code, but skip exception handlers of the function
/// itself. The registration is permanent and uses `room`, zeroed memory that must stay. Returns
/// true, without an effect, if the system needs no unwind information, or if the function is a leaf
/// that has none. Returns false, without an effect, if `room` is too small or the system refuses.
/// Control plane.
bool describe_moved_code(std::span<const MovedInstruction> instructions,
                         std::span<std::byte> room) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/moved_code.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/moved_code.hpp"
#else
#error "alloctap/os/moved_code.hpp has no implementation for this system"
#endif
