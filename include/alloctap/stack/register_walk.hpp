/// A DWARF unwinder that tracks all callee-saved registers.
#pragma once

#include <cstdint>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/elf/register_file.hpp"
#include "alloctap/stack/stack_memory.hpp"

namespace alloctap {

/// A frame-by-frame unwinder with every register that functions preserve. Reads the stack through
/// system calls, so a corrupt stack ends the walk but cannot crash it. Takes some microseconds per
/// frame. Runs inside malloc; not thread-safe; allocates nothing.
class RegisterWalk {
 public:
  enum class Outcome : std::uint8_t { kCaller, kOutermost, kFailed };

  /// Starts in the function that `own` was read in, at `pc`.
  void begin(std::uintptr_t pc, const arch::RegisterValues& own) noexcept;

  /// Unwinds to the caller. Outcomes other than `kCaller` change nothing.
  Outcome step() noexcept;

  /// Returns the current frame's pc: its return address, unless `pc_is_exact()`.
  [[nodiscard]] std::uintptr_t pc() const noexcept { return pc_; }

  /// Returns whether `pc()` is the instruction itself: in the innermost frame, or one that a signal
  /// interrupted.
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
