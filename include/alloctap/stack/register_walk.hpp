/// A DWARF unwinder that tracks all callee-saved registers.
#pragma once

#include <cstdint>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/elf/register_file.hpp"
#include "alloctap/stack/stack_memory.hpp"

namespace alloctap {

/// An unwinder that steps frame by frame and restores every callee-saved register. Reads the stack
/// through system calls, so a corrupt stack ends the walk but cannot crash the process. Takes some
/// microseconds per frame. Runs inside malloc; not thread-safe; allocates nothing.
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
#include "alloctap/stack/impl/register_walk.hpp"
#endif
