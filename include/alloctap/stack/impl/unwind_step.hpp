/// Definitions for stack/unwind_step.hpp.
#pragma once

#include <optional>

#include "alloctap/elf/byte_reader.hpp"
#include "alloctap/elf/call_frame_step.hpp"
#include "alloctap/stack/unwind_step.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE UnwindOutcome step_by_table(const UnwindFrame& frame,
                                                              NotedFrame& caller,
                                                              StepReader read) noexcept {
  using Registers = arch::DwarfRegisters;
  caller.step = {};
  const elf::CallFrameRow* const found = find_unwind_row(frame.call_address());
  if (found == nullptr) return UnwindOutcome::kNoTable;
  const elf::CallFrameRow& row = *found;
  elf::RegisterFile known;
  known.set(Registers::kStackPointer, frame.sp);
  known.set(Registers::kFramePointer, frame.fp);
  // Rows of PLT entries have DWARF expressions that depend on the offset within the entry.
  known.set(Registers::kProgramCounter, frame.call_address());
  const elf::CallFrameRules rules(row, known, read);
  const auto cfa = rules.find_cfa();
  const auto pc = cfa ? rules.find_register(row.return_address_register, *cfa) : std::nullopt;
  const auto sp = pc ? rules.find_register(Registers::kStackPointer, *cfa) : std::nullopt;
  const auto fp = sp ? rules.find_register(Registers::kFramePointer, *cfa) : std::nullopt;
  if (!fp) return read.refused() ? UnwindOutcome::kBroken : UnwindOutcome::kNeedsRegisters;
  if (*pc == 0) return UnwindOutcome::kOutermost;
  const std::uintptr_t address = row.return_address_signed ? Registers::strip_signature(*pc) : *pc;
  caller.frame = {.pc = row.signal_frame ? address + 1 : address, .sp = *sp, .fp = *fp};
  return UnwindOutcome::kCaller;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE UnwindOutcome step_realigned(const UnwindFrame& frame,
                                                               const UnwindRule& rule,
                                                               NotedFrame& caller,
                                                               StepReader read) noexcept {
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  const auto at = [](std::uintptr_t base, std::int64_t bytes) {
    return base + static_cast<std::uintptr_t>(bytes);
  };
  caller.step = {.last_word_is_frame_pointer = true};
  UnwindFrame& found = caller.frame;
  const bool readable = read(at(frame.fp, rule.cfa_offset), found.sp) &&
                        read(at(found.sp, rule.return_offset()), found.pc) &&
                        read(at(frame.fp, rule.fp_slot * kWord), found.fp);
  if (!readable) return UnwindOutcome::kBroken;
  return found.pc == 0 ? UnwindOutcome::kOutermost : UnwindOutcome::kCaller;
}

}  // namespace alloctap
