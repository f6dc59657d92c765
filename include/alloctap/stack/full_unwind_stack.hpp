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
/// crash it as it can the C++ runtime's unwinder. Takes some microseconds per frame: the fallback
/// for the few stacks whose rules `UnwindTableStack` cannot represent.
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
