/// Finds a module's unwind tables, and the row at a code address, also in signal trampolines.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/arch/signal_return.hpp"
#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/call_frame_interpreter.hpp"
#include "alloctap/elf/mapped_image.hpp"
#include "alloctap/elf/unwind_tables.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap::elf {

/// Scratch memory of `find_row`. It takes about 4 KB, as much as some fibers' stacks, so callers
/// inside malloc must not allocate it on the stack.
struct RowSearch {
  FoundDescription found;
  std::optional<CallFrameInterpreter> interpreter;
};

/// Writes the row at `pc` to `row`, which is meaningful only if the result is `kFound`. For a
/// return address outside signal frames, pass the address before it, because the call may be the
/// last instruction of its function. Runs inside malloc.
inline UnwindStatus find_row(const UnwindTables& tables, std::uintptr_t pc, CallFrameRow& row,
                             RowSearch& search) noexcept {
  search.found = find_frame_description(tables, pc);
  if (search.found.status != UnwindStatus::kFound) return search.found.status;
  CallFrameInterpreter& interpreter = search.interpreter.emplace(search.found.description);
  interpreter.skip_rows_before(pc);
  while (interpreter.next()) {
    if (pc >= interpreter.row().end) continue;
    row = interpreter.row();
    return UnwindStatus::kFound;
  }
  // The rows of an FDE cover all its code, so no row is missing unless an error occurred.
  return interpreter.status();
}

/// Finds the unwind tables of the module mapped at `start` in its program headers. Reads only
/// `file`, the start of the module's file, aligned to 8. The result's bounds are those of the
/// segment with .eh_frame_hdr, because linkers put .eh_frame into the same segment, and a gap may
/// follow the segment. Returns nullopt if the module has no tables or `file` lacks the headers.
/// Runs inside malloc.
inline std::optional<UnwindTables> unwind_tables_of_image(std::span<const std::byte> file,
                                                          std::uintptr_t start) noexcept {
  const auto image = read_mapped_image(file, start);
  if (!image) return std::nullopt;
  const auto segments = find_segments(file);
  const auto is_header = [](const auto& segment) { return segment.p_type == PT_GNU_EH_FRAME; };
  const auto header = std::find_if(segments.begin(), segments.end(), is_header);
  if (header == segments.end()) return std::nullopt;
  const auto holds_header = [header](const auto& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 &&
           header->p_vaddr >= segment.p_vaddr &&
           header->p_vaddr - segment.p_vaddr < segment.p_filesz;
  };
  const auto holder = std::find_if(segments.begin(), segments.end(), holds_header);
  if (holder == segments.end()) return std::nullopt;
  UnwindTables tables;
  tables.header = image->bias + header->p_vaddr;
  tables.low = image->bias + holder->p_vaddr;
  tables.high = tables.low + holder->p_filesz;
  return tables;
}

/// Returns the unwind tables of the module that contains `pc`, or nullopt. GCC's -static (not
/// -static-pie) omits .eh_frame_hdr unless -Wl,--eh-frame-hdr is given. Does not find code
/// registered with `__register_frame`. Allocates nothing and takes no lock. Runs inside malloc. The
/// result is valid while the module stays loaded. May change errno.
inline std::optional<UnwindTables> find_unwind_tables(std::uintptr_t pc) noexcept {
  constexpr std::size_t kPage = 4096;
  const os::LoadedModule module = os::find_module(pc);
  if (module.start == 0) return std::nullopt;
  const std::span file(reinterpret_cast<const std::byte*>(module.start),
                       std::min(kPage, module.end - module.start));
  const auto tables = unwind_tables_of_image(file, module.start);
  if (tables) return tables;
  // The program headers may not be at the start, because tools that edit ELF files move them.
  if (module.unwind_tables == 0) return std::nullopt;
  return UnwindTables{module.unwind_tables, module.start, module.end};
}

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

/// Recognizes a signal trampoline by its instructions, which begin at `address` rounded up to the
/// size of an instruction, so that `address` may be a return address minus 1. Writes the row to
/// `row` and returns true if the instructions are a trampoline's. Compares a copy of the code, so
/// any address is safe. Makes system calls; may change errno. Runs inside malloc.
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

/// Writes the row at `address` to `row`; returns false if not found. Interprets the table on each
/// call. See `find_unwind_tables`, `find_row` and `find_signal_row` for preconditions and
/// guarantees.
[[nodiscard]] inline bool find_loaded_row(std::uintptr_t address, CallFrameRow& row,
                                          RowSearch& search) noexcept {
  const std::optional<UnwindTables> tables = find_unwind_tables(address);
  if (tables && find_row(*tables, address, row, search) == UnwindStatus::kFound) return true;
  return find_signal_row(address, row);
}

}  // namespace alloctap::elf
