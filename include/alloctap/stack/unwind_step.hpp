/// One step outwards: from a frame to the one that it was called from.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/elf/call_frame_step.hpp"
#include "alloctap/elf/register_file.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/unwind_frame.hpp"
#include "alloctap/stack/unwind_rule.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

enum class UnwindOutcome : std::uint8_t {
  kCaller,
  /// The frame has no caller: a thread or a process begins there.
  kOutermost,
  /// The code has no unwind table.
  kNoTable,
  /// What the rule names cannot be read, or is no frame further out.
  kBroken,
  /// The rule asks for a register that only a walk with all registers knows.
  kNeedsRegisters,
};

/// By the tables themselves, with the two registers that a walk knows. `Memory` as in
/// `step_outwards`.
template <class Memory>
ALLOCTAP_NOINLINE UnwindOutcome step_by_table(UnwindFrame& frame, Memory& memory) noexcept {
  using Registers = arch::DwarfRegisters;
  elf::CallFrameRow row;
  if (!find_unwind_row(frame.call_address(), row)) return UnwindOutcome::kNoTable;
  bool unreadable = false;
  auto read = [&](std::uintptr_t address, std::uintptr_t& word) noexcept {
    const bool known = memory.read(address, word);
    unreadable = unreadable || !known;
    return known;
  };
  elf::RegisterFile known;
  known.set(Registers::kStackPointer, frame.sp);
  known.set(Registers::kFramePointer, frame.fp);
  const elf::CallFrameRules rules(row, known, read);
  const auto cfa = rules.find_cfa();
  const auto pc = cfa ? rules.find_register(row.return_address_register, *cfa) : std::nullopt;
  const auto sp = pc ? rules.find_register(Registers::kStackPointer, *cfa) : std::nullopt;
  const auto fp = sp ? rules.find_register(Registers::kFramePointer, *cfa) : std::nullopt;
  if (!fp) return unreadable ? UnwindOutcome::kBroken : UnwindOutcome::kNeedsRegisters;
  if (*pc == 0) return UnwindOutcome::kOutermost;
  const std::uintptr_t address = row.return_address_signed ? Registers::strip_signature(*pc) : *pc;
  frame = {.pc = row.signal_frame ? address + 1 : address, .sp = *sp, .fp = *fp};
  return UnwindOutcome::kCaller;
}

/// Replaces `frame` by its caller, by `rule`, which is the one of its call address. Only with
/// `kCaller` is `frame` another one. `Memory::read(address, word)` reads the stack. Runs inside
/// malloc; does not check that the caller lies further out.
template <class Memory>
ALLOCTAP_ALWAYS_INLINE UnwindOutcome step_outwards(UnwindFrame& frame, const UnwindRule& rule,
                                                   Memory& memory) noexcept {
  constexpr std::uintptr_t kWord = sizeof(std::uintptr_t);
  const auto at = [](std::uintptr_t base, std::int64_t bytes) {
    return base + static_cast<std::uintptr_t>(bytes);
  };
  std::uintptr_t cfa = 0;
  std::uintptr_t fp = frame.fp;
  bool readable = true;
  switch (rule.kind) {
    case UnwindRule::Kind::kFromStackPointer:
      cfa = at(frame.sp, rule.cfa_offset);
      break;
    case UnwindRule::Kind::kFromFramePointer:
      cfa = at(frame.fp, rule.cfa_offset);
      break;
    case UnwindRule::Kind::kRealigned:
      readable = memory.read(at(frame.fp, rule.cfa_offset), cfa);
      break;
    case UnwindRule::Kind::kNone:
      return UnwindOutcome::kNoTable;
    case UnwindRule::Kind::kOutermost:
      return UnwindOutcome::kOutermost;
    case UnwindRule::Kind::kNeedsTable:
      return step_by_table(frame, memory);
  }
  std::uintptr_t pc = 0;
  readable = readable && memory.read(at(cfa, rule.return_slot * std::int64_t{kWord}), pc);
  if (rule.fp_slot != UnwindRule::kUnchanged) {
    const bool realigned = rule.kind == UnwindRule::Kind::kRealigned;
    const std::uintptr_t base = realigned ? frame.fp : cfa;
    readable = readable && memory.read(at(base, rule.fp_slot * std::int64_t{kWord}), fp);
  }
  if (!readable) [[unlikely]] {
    return UnwindOutcome::kBroken;
  }
  if (pc == 0) return UnwindOutcome::kOutermost;
  frame = {.pc = pc, .sp = cfa, .fp = fp};
  return UnwindOutcome::kCaller;
}

}  // namespace alloctap
