/// The bodies of stack/register_walk.hpp.
#pragma once

#include <cstdint>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/elf/call_frame_step.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/register_walk.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

ALLOCTAP_INLINE void RegisterWalk::begin(std::uintptr_t pc,
                                         const arch::RegisterValues& own) noexcept {
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

ALLOCTAP_INLINE RegisterWalk::Outcome RegisterWalk::step() noexcept {
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

}  // namespace alloctap
