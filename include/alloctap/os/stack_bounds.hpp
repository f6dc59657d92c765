/// Bounds of thread stacks.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Readable address range `[low, high)` of a stack; empty if not found.
struct StackBounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return address >= low && address < high;
  }
};

/// Returns the mapped range around `address`, an address on some stack. Queries the kernel, because
/// the thread library's functions allocate and take locks. May run inside malloc. Costs system
/// calls, so callers should cache the result. The main thread's stack may grow down later, so only
/// its `high` is a permanent bound. errno may change.
StackBounds find_stack_bounds(std::uintptr_t address) noexcept;

/// Returns the process's initial stack pointer; the highest address if unknown. All frames of the
/// main thread are below that address. Stacks of other threads may be above.
std::uintptr_t initial_stack_pointer() noexcept;

/// Returns true if a frame with the stack pointer `sp` is the process's initial frame, which unwind
/// tables do not mark as outermost. May run inside malloc; preserves errno.
bool is_initial_frame(std::uintptr_t sp) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/stack_bounds.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/stack_bounds.hpp"
#else
#error "alloctap/os/stack_bounds.hpp has no implementation for this system"
#endif
