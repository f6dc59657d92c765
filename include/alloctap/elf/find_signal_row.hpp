/// Synthesizes the unwind table row of signal trampolines without unwind tables.
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

/// Returns whether `address` may be in a signal trampoline. Returns false only if `address` is
/// outside all modules (JIT code) and a vDSO exists. This saves `find_signal_row` a copy of JIT
/// code.
inline bool may_return_from_signal(std::uintptr_t address) noexcept {
  return os::vdso_address() == 0 || os::find_module(address).start != 0;
}

/// Returns the row of the trampoline at `code`, which loads every register from the signal frame.
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

/// Recognizes the trampoline by its instructions, which begin at `address` rounded up to an
/// instruction. So return addresses minus 1 work, too. Writes the row to `row` and returns true if
/// the instructions are a trampoline's. Compares a copy of the code, so any address is safe. Makes
/// system calls; may change errno. Runs inside malloc.
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
