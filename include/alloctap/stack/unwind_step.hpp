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

/// Reads for one step through `Memory::read(address, word)`, and notes down what it read. The kind
/// of memory is hidden behind a pointer: what interprets tables is large, and once is enough.
class StepReader {
 public:
  template <class Memory>
  StepReader(Memory& memory, NotedFrame& notes) noexcept
      : memory_(const_cast<void*>(static_cast<const void*>(&memory))),
        read_(&read_from<Memory>),
        notes_(notes) {}

  /// False where the word may not be read, or more are read than a frame has room for.
  bool operator()(std::uintptr_t address, std::uintptr_t& word) noexcept {
    if (notes_.word_count == kMostWordsOfFrame || !read_(memory_, address, word)) {
      refused_ = true;
      return false;
    }
    notes_.words[notes_.word_count++] = {.address = address, .value = word};
    return true;
  }

  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  using Read = bool (*)(void*, std::uintptr_t, std::uintptr_t&) noexcept;

  template <class Memory>
  static bool read_from(void* memory, std::uintptr_t address, std::uintptr_t& word) noexcept {
    return static_cast<Memory*>(memory)->read(address, word);
  }

  void* memory_;
  Read read_;
  NotedFrame& notes_;
  bool refused_ = false;
};

/// By the tables themselves, with the two registers that a walk knows.
ALLOCTAP_NOINLINE inline UnwindOutcome step_by_table(const UnwindFrame& frame, NotedFrame& caller,
                                                     StepReader read) noexcept {
  using Registers = arch::DwarfRegisters;
  elf::CallFrameRow row;
  if (!find_unwind_row(frame.call_address(), row)) return UnwindOutcome::kNoTable;
  caller.word_count = 0;
  caller.last_word_is_frame_pointer = false;
  elf::RegisterFile known;
  known.set(Registers::kStackPointer, frame.sp);
  known.set(Registers::kFramePointer, frame.fp);
  // Rules of PLT entries ask where in the entry a signal came.
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

/// By a rule whose CFA is in a word beside the frame pointer.
ALLOCTAP_NOINLINE inline UnwindOutcome step_realigned(const UnwindFrame& frame,
                                                      const UnwindRule& rule, NotedFrame& caller,
                                                      StepReader read) noexcept {
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  const auto at = [](std::uintptr_t base, std::int64_t bytes) {
    return base + static_cast<std::uintptr_t>(bytes);
  };
  caller.word_count = 0;
  caller.last_word_is_frame_pointer = true;
  UnwindFrame& found = caller.frame;
  const bool readable = read(at(frame.fp, rule.cfa_offset), found.sp) &&
                        read(at(found.sp, rule.return_offset()), found.pc) &&
                        read(at(frame.fp, rule.fp_slot * kWord), found.fp);
  if (!readable) return UnwindOutcome::kBroken;
  return found.pc == 0 ? UnwindOutcome::kOutermost : UnwindOutcome::kCaller;
}

/// By what is neither `kFromStackPointer` nor `kFromFramePointer`.
template <class Memory>
UnwindOutcome step_specially(const UnwindFrame& frame, const UnwindRule& rule, NotedFrame& caller,
                             Memory& memory) noexcept {
  switch (rule.kind) {
    case UnwindRule::Kind::kRealigned:
      return step_realigned(frame, rule, caller, StepReader(memory, caller));
    case UnwindRule::Kind::kNeedsTable:
      return step_by_table(frame, caller, StepReader(memory, caller));
    case UnwindRule::Kind::kOutermost:
      return UnwindOutcome::kOutermost;
    default:
      return UnwindOutcome::kNoTable;
  }
}

/// Writes the caller of `frame`, and the words that it was found by, to `caller`, whose `use` stays
/// as it is; only with `kCaller` is it of value. `rule` is the one of the frame's call address. A
/// return address of 0, which whoever made the stack put there, ends it too.
/// Runs inside malloc; does not check that the caller lies further out.
///
/// Without branches on what differs from frame to frame: a wrong guess costs more than a load.
template <class Memory>
ALLOCTAP_ALWAYS_INLINE UnwindOutcome step_outwards(const UnwindFrame& frame, const UnwindRule& rule,
                                                   NotedFrame& caller, Memory& memory) noexcept {
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  if (!rule.is_plain()) [[unlikely]] {
    // Copies, because both are to stay in registers.
    const UnwindFrame frame_in_memory = frame;
    const UnwindRule rule_in_memory = rule;
    return step_specially(frame_in_memory, rule_in_memory, caller, memory);
  }
  const bool from_fp = rule.kind == UnwindRule::Kind::kFromFramePointer;
  // 0 or 1, which the compiler is not to know: it would make a branch of it.
  std::uintptr_t fp_saved = rule.fp_slot != UnwindRule::kUnchanged ? 1 : 0;
  ALLOCTAP_HIDE_VALUE(fp_saved);
  const auto if_saved = [&](std::uintptr_t then, std::uintptr_t otherwise) {
    return otherwise ^ ((then ^ otherwise) & (std::uintptr_t{0} - fp_saved));
  };
  const std::uintptr_t base = from_fp ? frame.fp : frame.sp;
  const std::uintptr_t cfa = base + static_cast<std::uintptr_t>(std::int64_t{rule.cfa_offset});
  const std::uintptr_t pc_place = cfa + static_cast<std::uintptr_t>(rule.return_offset());
  const std::uintptr_t saved_place = cfa + static_cast<std::uintptr_t>(rule.fp_slot * kWord);
  const std::uintptr_t fp_place = if_saved(saved_place, pc_place);
  std::uintptr_t pc = 0;
  std::uintptr_t fp = 0;
  if (!memory.read(pc_place, pc) || !memory.read(fp_place, fp)) [[unlikely]] {
    return UnwindOutcome::kBroken;
  }
  caller.words[0] = {.address = pc_place, .value = pc};
  caller.words[1] = {.address = fp_place, .value = fp};
  caller.word_count = 1 + static_cast<std::uint32_t>(fp_saved);
  caller.last_word_is_frame_pointer = fp_saved != 0;
  caller.frame = {.pc = pc, .sp = cfa, .fp = if_saved(fp, frame.fp)};
  return pc == 0 ? UnwindOutcome::kOutermost : UnwindOutcome::kCaller;
}

}  // namespace alloctap
