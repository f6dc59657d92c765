/// The mapped range that holds a stack.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// `[low, high)`, readable. Empty where it could not be found.
struct StackBounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return address >= low && address < high;
  }
};

/// The mapped range around `address`, an address on some stack. It is asked of the system and not
/// of the thread library, whose own way allocates and takes locks. May run inside malloc; costs
/// system calls, so callers keep the answer. The main thread's stack grows downwards after this:
/// only `high` is a lasting bound. errno may change.
StackBounds find_stack_bounds(std::uintptr_t address) noexcept;

/// The stack pointer that the process began with: no frame of the main thread lies above, but the
/// stacks of other threads may. The highest address where the system does not tell.
std::uintptr_t initial_stack_pointer() noexcept;

/// Whether a frame with the stack pointer `sp` is the one that the process began with, which no
/// unwind table calls the outermost. Runs inside malloc; errno does not change.
bool is_initial_frame(std::uintptr_t sp) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/stack_bounds.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/stack_bounds.hpp"
#else
#error "alloctap/os/stack_bounds.hpp has no implementation for this system"
#endif
