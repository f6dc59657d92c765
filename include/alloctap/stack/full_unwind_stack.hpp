/// A stack capture policy that unwinds with all registers and tolerates corrupt stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// A DWARF unwinder that tracks all callee-saved registers and caches no rules. Finds the frames
/// that `BacktraceStack` finds. Reads the stack through system calls, so a corrupt stack cannot
/// crash the process, whereas it may crash the C++ runtime's unwinder. Takes some microseconds per
/// frame. `UnwindTableStack` falls back to it for the few stacks that cannot be unwound with the
/// stack and frame pointers alone. Runs inside malloc.
struct FullUnwindStack {
  static constexpr std::string_view name = "careful";

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept;

 private:
  class Walk;

  static CapturedStack caller_alone(std::uintptr_t caller,
                                    std::span<std::uintptr_t> frames) noexcept {
    frames[0] = caller;
    return {.depth = 1, .failed = true};
  }
};

static_assert(StackCapture<FullUnwindStack>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/full_unwind_stack.hpp"
#endif
