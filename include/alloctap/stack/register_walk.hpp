/// A walk from frame to frame with all registers.
#pragma once

#include <cstdint>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/elf/call_frame_step.hpp"
#include "alloctap/elf/register_file.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// Interprets the unwind tables of each frame, with every register that functions preserve. Reads
/// the stack as copies that the system makes, so a smashed stack ends the walk and cannot crash it.
///
/// Some microseconds per frame. Runs inside malloc; not thread-safe. Allocates nothing.
class RegisterWalk {
 public:
  enum class Outcome : std::uint8_t { kCaller, kOutermost, kFailed };

  /// Starts in the function that these registers were read in, at `pc`.
  void begin(std::uintptr_t pc, const arch::RegisterValues& own) noexcept {
    using Registers = arch::DwarfRegisters;
    memory_.forget();
    pc_ = pc;
    pc_is_exact_ = true;
    registers_ = {};
    for (unsigned number = 0; number < own.size(); ++number) {
      const bool known = Registers::is_preserved(number) || number == Registers::kStackPointer ||
                         number == Registers::kProgramCounter;
      if (known) registers_.set(number, own[number]);
    }
  }

  /// Goes to the caller. Changes nothing with the other outcomes.
  Outcome step() noexcept {
    const elf::CallFrameRow* const row = find_unwind_row(pc_is_exact_ ? pc_ : pc_ - 1);
    if (row == nullptr) return Outcome::kFailed;
    auto read = [this](std::uintptr_t address, std::uintptr_t& word) noexcept {
      return memory_.read(address, word);
    };
    const elf::CallFrameStep step = elf::step_to_caller(*row, registers_, read);
    switch (step.outcome) {
      case elf::CallFrameStep::Outcome::kOutermost:
        return Outcome::kOutermost;
      case elf::CallFrameStep::Outcome::kFailed:
        return Outcome::kFailed;
      case elf::CallFrameStep::Outcome::kCaller:
        break;
    }
    pc_ = step.pc;
    pc_is_exact_ = step.pc_is_exact;
    registers_ = step.registers;
    return Outcome::kCaller;
  }

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
