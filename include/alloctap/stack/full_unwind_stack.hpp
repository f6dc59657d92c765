/// A stack capture policy that unwinds with all registers, and its DWARF unwinder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/elf/byte_reader.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/stack_memory.hpp"

namespace alloctap {

/// A DWARF unwinder that tracks all callee-saved registers and caches no rules. Finds the frames
/// that `BacktraceStack` finds. Reads the stack through system calls, so a corrupt stack cannot
/// crash the process, whereas it may crash the C++ runtime's unwinder. Takes some microseconds per
/// frame. `UnwindTableStack` falls back to this policy for the few stacks that need registers other
/// than the stack and frame pointers. Runs inside malloc.
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

/// An unwinder that steps frame by frame and restores every callee-saved register. A corrupt stack
/// ends the walk, because words are read through system calls. Runs inside malloc; not thread-safe;
/// allocates nothing.
class RegisterWalk {
 public:
  enum class Outcome : std::uint8_t { kCaller, kOutermost, kFailed };

  /// Starts the walk at `pc`, in the function that read its registers into `own`.
  void begin(std::uintptr_t pc, const arch::RegisterValues& own) noexcept;

  /// Unwinds to the caller. The current frame changes only if the result is `kCaller`.
  Outcome step() noexcept;

  /// Returns the current frame's pc: the address that its callee returns to, unless
  /// `pc_is_exact()`.
  [[nodiscard]] std::uintptr_t pc() const noexcept { return pc_; }

  /// Returns whether `pc()` is the executing instruction, not a return address. True in the
  /// innermost frame, and in a frame that a signal interrupted.
  [[nodiscard]] bool pc_is_exact() const noexcept { return pc_is_exact_; }

  /// Returns the current frame's registers, as far as they are known.
  [[nodiscard]] const elf::RegisterFile& registers() const noexcept { return registers_; }

 private:
  std::uintptr_t pc_ = 0;
  bool pc_is_exact_ = false;
  elf::RegisterFile registers_;
  CopiedStack memory_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/full_unwind_stack.hpp"
#endif
