/// Finds a place in a module through which a function can return to code outside of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "alloctap/arch/return_gadgets.hpp"
#include "alloctap/elf/call_frame_interpreter.hpp"
#include "alloctap/elf/eh_frame_header.hpp"
#include "alloctap/elf/find_unwind_tables.hpp"
#include "alloctap/elf/loaded_memory.hpp"
#include "alloctap/elf/mapped_image.hpp"

namespace alloctap::elf {

/// Whether `number` is one of the registers that may be saved, and at its place.
inline bool describes_optional(unsigned number, const RegisterRule& rule,
                               const arch::ReturnGadget& gadget) noexcept {
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  const unsigned index = number - arch::ReturnGadget::kFirstOptional;
  return index < gadget.optional_registers && rule.kind == RegisterRule::Kind::kAtCfaPlus &&
         rule.value == gadget.saved_at + kWord * (2 + std::int64_t{index});
}

/// Whether `row` is what the frame of a return through `gadget` looks like.
inline bool describes_gadget(const CallFrameRow& row, const arch::ReturnGadget& gadget) noexcept {
  using Registers = arch::DwarfRegisters;
  const bool is_plain_call = !row.signal_frame && !row.return_address_signed &&
                             !row.has_other_rules &&
                             row.return_address_register == Registers::kReturnAddress;
  const bool has_cfa = row.cfa.kind == CfaRule::Kind::kRegisterPlusOffset &&
                       row.cfa.register_number == gadget.cfa_register &&
                       row.cfa.value == gadget.cfa_offset;
  if (!is_plain_call || !has_cfa) return false;
  for (unsigned number = 0; number < Registers::kCount; ++number) {
    const RegisterRule& rule = row.registers[number];
    const bool is_return_address = number == Registers::kReturnAddress;
    if (is_return_address || number == gadget.saved_register) {
      const std::int64_t place = is_return_address ? gadget.return_address_at : gadget.saved_at;
      if (rule != RegisterRule{RegisterRule::Kind::kAtCfaPlus, 0, place}) return false;
    } else if (rule.kind != RegisterRule::Kind::kUnspecified &&
               rule.kind != RegisterRule::Kind::kSameValue &&
               !describes_optional(number, rule, gadget)) {
      return false;
    }
  }
  return true;
}

/// The first gadget of one function whose row, and that of the byte before it, fits; 0 where there
/// is none. An unwinder looks at the byte before a return address: so at what holds there. Reads
/// code that `memory` holds alone. Runs anywhere.
inline std::uintptr_t find_return_gadget_in(const LoadedMemory& memory,
                                            const FrameDescription& function) noexcept {
  const std::uintptr_t bytes = function.end - function.begin;
  if (function.common.has_personality || !memory.holds(function.begin, bytes, PF_R | PF_X)) {
    return 0;
  }
  const std::string_view code(reinterpret_cast<const char*>(function.begin), bytes);
  CallFrameInterpreter rows(function);
  while (rows.next()) {
    const CallFrameRow& row = rows.row();
    for (const arch::ReturnGadget& gadget : arch::kReturnGadgets) {
      if (!describes_gadget(row, gadget)) continue;
      std::size_t at = code.find(gadget.code, row.begin + 1 - function.begin);
      while (at != code.npos && (function.begin + at) % gadget.alignment != 0) {
        at = code.find(gadget.code, at + 1);
      }
      if (at != code.npos && function.begin + at < row.end) return function.begin + at;
    }
  }
  return 0;
}

/// The gadget nearest to `pc`: in its function, or in one of those around. 0 where none is among
/// the nearest. Takes some hundred nanoseconds for each function. Runs anywhere.
inline std::uintptr_t find_return_gadget(const LoadedMemory& memory, const UnwindTables& tables,
                                         std::uintptr_t pc) noexcept {
  constexpr std::size_t kMaxFunctions = 1000;
  const auto header = read_eh_frame_header(tables);
  if (!header) return 0;
  const std::size_t count = header->table.size() / sizeof(EhFrameHeader::Row);
  const std::size_t own = count_rows_up_to(header->table, tables.header, pc);
  for (std::size_t i = 0; i < kMaxFunctions; ++i) {
    // own - 1, own, own - 2, own + 1 and so on, of which those below 0 are too large.
    const std::size_t row = i % 2 == 0 ? own - 1 - i / 2 : own + i / 2;
    if (row >= count) continue;
    const auto place = static_cast<std::uintptr_t>(read_table_row(header->table, row).description);
    const auto function = read_frame_description(tables, tables.header + place);
    const std::uintptr_t gadget = function ? find_return_gadget_in(memory, *function) : 0;
    if (gadget != 0) return gadget;
  }
  return 0;
}

/// In the module that holds `pc`; 0 too where it has no unwind tables with a table to search, or
/// its program headers are not at its start. Allocates nothing and takes no lock. The answer holds
/// as long as the module stays loaded. errno may change.
inline std::uintptr_t find_return_gadget(std::uintptr_t pc) noexcept {
  constexpr std::size_t kPage = 4096;
  const os::LoadedModule module = os::find_module(pc);
  if (module.start == 0) return 0;
  const std::span file(reinterpret_cast<const std::byte*>(module.start),
                       std::min(kPage, module.end - module.start));
  const auto image = read_mapped_image(file, module.start);
  const auto tables = unwind_tables_of_image(file, module.start);
  if (!image || !tables) return 0;
  return find_return_gadget(LoadedMemory(image->bias, find_segments(file)), *tables, pc);
}

}  // namespace alloctap::elf
