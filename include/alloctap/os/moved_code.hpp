/// Telling the system how code that was moved is unwound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::os {

/// An instruction that stood at `from` and now is `[to, to_end)`.
struct MovedInstruction {
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  std::uintptr_t to_end = 0;
};

/// Has exceptions that are raised in moved instructions of one function find their way as from
/// where these stood; the handlers of that function itself are not asked. For ever: `room`, zeroed
/// memory that stays, is used for it. Does nothing where the system needs no such thing, or the
/// function has no unwind information, as a leaf. False where `room` does not do or the system
/// refuses; then all is as before. Control plane.
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
