/// A walk from frame to frame with all registers.
#pragma once

#include <cstdint>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/elf/register_file.hpp"
#include "alloctap/stack/stack_memory.hpp"

namespace alloctap {

/// Interprets the unwind tables of each frame, with every register that functions preserve. Reads
/// the stack as copies that the system makes, so a smashed stack ends the walk and cannot crash it.
///
/// Some microseconds per frame. Runs inside malloc; not thread-safe. Allocates nothing.
class RegisterWalk {
 public:
  enum class Outcome : std::uint8_t { kCaller, kOutermost, kFailed };

  /// Starts in the function that these registers were read in, at `pc`.
  void begin(std::uintptr_t pc, const arch::RegisterValues& own) noexcept;

  /// Goes to the caller. Changes nothing with the other outcomes.
  Outcome step() noexcept;

  /// Where the present frame continues.
  [[nodiscard]] std::uintptr_t pc() const noexcept { return pc_; }

  /// Whether the frame is the innermost one, or a signal interrupted it at `pc`.
  [[nodiscard]] bool pc_is_exact() const noexcept { return pc_is_exact_; }

  /// Those of the present frame, as far as they are known.
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
