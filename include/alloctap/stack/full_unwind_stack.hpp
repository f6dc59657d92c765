/// A walk with all registers that a smashed stack cannot lead astray.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// Interprets the unwind tables of each frame anew, from its own frame outwards, with every
/// register that functions preserve; sees what `BacktraceStack` sees. Reads the stack as copies
/// that the system makes, so that no word of it can make the walk touch what is not there, which
/// the compiler's unwinder does. Some microseconds per frame: for the few stacks whose rules
/// `UnwindTableStack` does not keep.
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
