/// The row of the code that handlers of signals return to, where no unwind table has one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/arch/signal_return.hpp"
#include "alloctap/elf/call_frame.hpp"
#include "alloctap/os/confinement.hpp"
#include "alloctap/os/find_module.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/memory_map.hpp"

namespace alloctap::elf {

/// Whether the system may have put such code there: in its vDSO, in a library, and where there is
/// no vDSO, anywhere. Keeps code that is made while the program runs from being copied at each
/// capture.
inline bool may_return_from_signal(std::uintptr_t address) noexcept {
  return os::vdso_address() == 0 || os::find_module(address).start != 0;
}

/// Every register is where the signal left it.
inline CallFrameRow signal_row(std::uintptr_t code) noexcept {
  using Registers = arch::DwarfRegisters;
  CallFrameRow row;
  row.begin = code;
  row.end = code + sizeof arch::SignalReturn::kCode;
  row.cfa = {.kind = CfaRule::Kind::kRegisterPlusOffset,
             .register_number = Registers::kStackPointer};
  for (std::size_t number = 0; number < row.registers.size(); ++number) {
    const std::ptrdiff_t place = arch::SignalReturn::kRegisters +
                                 static_cast<std::ptrdiff_t>(number * sizeof(std::uintptr_t));
    row.registers[number] = {.kind = RegisterRule::Kind::kAtCfaPlus, .value = place};
  }
  row.return_address_register = Registers::kProgramCounter;
  row.signal_frame = true;
  return row;
}

/// Writes the row to `row` where `address`, which no table tells of, or the next one is the first
/// of such code. Looks at a copy of what is there, so any address will do. For both an address and
/// a return address minus one. Costs system calls; errno may change. Runs anywhere.
inline bool find_signal_row(std::uintptr_t address, CallFrameRow& row) noexcept {
  using Code = arch::SignalReturn::Code;
  if constexpr (arch::SignalReturn::kCode.empty()) return false;
  constexpr std::uintptr_t kInstruction = sizeof(Code::value_type);
  const std::uintptr_t code = (address + kInstruction - 1) & ~(kInstruction - 1);
  Code found{};
  const std::span bytes = std::as_writable_bytes(std::span(found));
  if (os::threads_are_confined.load(std::memory_order_relaxed)) return false;
  if (!may_return_from_signal(address) || os::copy_memory(code, bytes) != bytes.size() ||
      found != arch::SignalReturn::kCode) {
    return false;
  }
  row = signal_row(code);
  return true;
}

}  // namespace alloctap::elf
