/// Finds return gadgets: code in a module through which a function returns to code outside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "alloctap/arch/return_gadgets.hpp"
#include "alloctap/elf/call_frame_interpreter.hpp"
#include "alloctap/elf/find_row.hpp"
#include "alloctap/elf/mapped_image.hpp"
#include "alloctap/elf/unwind_tables.hpp"

namespace alloctap::elf {

/// Returns whether register `number` is one of the gadget's optional registers, and `rule` is the
/// gadget's rule for it.
inline bool describes_optional(unsigned number, const RegisterRule& rule,
                               const arch::ReturnGadget& gadget) noexcept {
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  const unsigned index = number - arch::ReturnGadget::kFirstOptional;
  return index < gadget.optional_registers && rule.kind == RegisterRule::Kind::kAtCfaPlus &&
         rule.value == gadget.saved_at + kWord * (2 + std::int64_t{index});
}

/// Returns whether the unwind row `row` describes the frame of a return through `gadget`.
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

/// Returns the address of the function's first usable gadget, or 0. The gadget's unwind row must
/// also cover the byte before the gadget, because unwinders look up return addresses minus 1. Reads
/// only code in `memory`. Runs inside malloc.
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

/// Returns a gadget's address in the function that contains `pc` or, if that has none, in one of
/// the nearest functions. Returns 0 if the nearest `kMaxFunctions` have no gadget. Takes some 100
/// ns per function. Runs inside malloc.
inline std::uintptr_t find_return_gadget(const LoadedMemory& memory, const UnwindTables& tables,
                                         std::uintptr_t pc) noexcept {
  constexpr std::size_t kMaxFunctions = 1000;
  const auto header = read_eh_frame_header(tables);
  if (!header) return 0;
  const std::size_t count = header->table.size() / sizeof(EhFrameHeader::Row);
  const std::size_t own = count_rows_up_to(header->table, tables.header, pc);
  for (std::size_t i = 0; i < kMaxFunctions; ++i) {
    // Visits own - 1, own, own - 2, own + 1 and so on. Indexes below 0 wrap and are out of range.
    const std::size_t row = i % 2 == 0 ? own - 1 - i / 2 : own + i / 2;
    if (row >= count) continue;
    const auto place = static_cast<std::uintptr_t>(read_table_row(header->table, row).description);
    const auto function = read_frame_description(tables, tables.header + place);
    const std::uintptr_t gadget = function ? find_return_gadget_in(memory, *function) : 0;
    if (gadget != 0) return gadget;
  }
  return 0;
}

/// Returns a gadget's address in the module that contains `pc`. Returns 0 if no gadget is found, if
/// the module has no .eh_frame_hdr table, or if its program headers are not at its start. Allocates
/// nothing and takes no lock. The result is valid while the module stays loaded. May change errno.
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
