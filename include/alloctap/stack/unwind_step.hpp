/// One unwind step from a frame to its caller, by an unwind rule or by a frame record.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/arch/frame_record.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// The result of a step from a frame to its caller.
enum class UnwindOutcome : std::uint8_t {
  kCaller,
  /// The frame has no caller, because it is the first of a thread or process.
  kOutermost,
  /// The code has no unwind table.
  kNoTable,
  /// A needed word cannot be read, or the caller would not be further out.
  kBroken,
  /// The rule needs a register other than sp and fp.
  kNeedsRegisters,
};

/// A reader for one step. Reads stack words through `Memory::read(address, word)` and records the
/// words in a `NotedFrame`. `Memory` is type-erased, so that the large table interpreter is
/// compiled once.
class StepReader {
 public:
  template <class Memory>
  StepReader(Memory& memory, NotedFrame& notes) noexcept
      : memory_(const_cast<void*>(static_cast<const void*>(&memory))),
        read_(&read_from<Memory>),
        notes_(notes) {}

  /// Returns false if the word is unreadable, or after `kMaxWordsOfFrame` words.
  bool operator()(std::uintptr_t address, std::uintptr_t& word) noexcept {
    if (notes_.step.word_count == kMaxWordsOfFrame || !read_(memory_, address, word)) {
      refused_ = true;
      return false;
    }
    notes_.words[notes_.step.word_count++] = {.address = address, .value = word};
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

/// Steps by interpreting the unwind table, with sp and fp as the only known registers.
UnwindOutcome step_by_table(const UnwindFrame& frame, NotedFrame& caller, StepReader read) noexcept;

/// Steps by a `kRealigned` rule, whose CFA is stored at an offset from the frame pointer.
UnwindOutcome step_realigned(const UnwindFrame& frame, const UnwindRule& rule, NotedFrame& caller,
                             StepReader read) noexcept;

/// Steps by a rule for which `UnwindRule::is_plain` returns false.
template <class Memory>
ALLOCTAP_NOINLINE UnwindOutcome step_specially(UnwindFrame frame, UnwindRule rule,
                                               NotedFrame& caller, Memory& memory) noexcept {
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

/// The `StepNotes` for `kFromStackPointer` rules: `kNotesOfSaved` if the rule loads fp, otherwise
/// `kNotesOfUnchanged`. Encoded as integers, so that a step selects one constant without a branch.
inline constexpr auto kNotesOfSaved = std::bit_cast<std::uint32_t>(StepNotes{
    .word_count = 2, .last_word_is_frame_pointer = true, .use = FramePointerUse::kIgnored});
inline constexpr auto kNotesOfUnchanged =
    std::bit_cast<std::uint32_t>(StepNotes{.word_count = 1, .use = FramePointerUse::kPassedOn});
/// A mask that clears the field `use`, so that `use` becomes `kUsed`.
inline constexpr auto kNotesButUse =
    ~std::bit_cast<std::uint32_t>(StepNotes{.use = static_cast<FramePointerUse>(0xFF)});
static_assert(FramePointerUse{} == FramePointerUse::kUsed);

/// Steps by a rule whose CFA is sp or fp plus an offset. Returns the caller twice: in `notes` for
/// the frame cache, and in `caller`, which can stay in registers. Avoids branches that depend on
/// the frame, because a misprediction costs more than a load.
template <class Memory>
ALLOCTAP_ALWAYS_INLINE UnwindOutcome step_plainly(const UnwindFrame& frame, const UnwindRule& rule,
                                                  NotedFrame& notes, UnwindFrame& caller,
                                                  Memory& memory) noexcept {
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  const bool from_fp = rule.kind == UnwindRule::Kind::kFromFramePointer;
  // A mask of all ones or 0. Hidden from GCC, which would otherwise select by a branch.
  std::uintptr_t saved = rule.fp_slot != UnwindRule::kUnchanged ? ~std::uintptr_t{0} : 0;
  ALLOCTAP_HIDE_VALUE(saved);
  const auto if_saved = [&](std::uintptr_t then, std::uintptr_t otherwise) {
    return otherwise ^ ((then ^ otherwise) & saved);
  };
  const std::uintptr_t base = from_fp ? frame.fp : frame.sp;
  const std::uintptr_t cfa = base + static_cast<std::uintptr_t>(std::int64_t{rule.cfa_offset});
  const std::uintptr_t pc_place = cfa + static_cast<std::uintptr_t>(rule.return_offset());
  const std::uintptr_t slot = cfa + static_cast<std::uintptr_t>(rule.fp_slot * kWord);
  const std::uintptr_t fp_place = arch::kRecordEndsFrame ? slot : if_saved(slot, pc_place);
  std::uintptr_t pc = 0;
  std::uintptr_t fp = 0;
  if (!memory.read_caller(frame.sp, cfa, pc_place, fp_place, pc, fp)) [[unlikely]] {
    return UnwindOutcome::kBroken;
  }
  caller = {.pc = pc, .sp = cfa, .fp = if_saved(fp, frame.fp)};
  notes.frame = caller;
  notes.words[0] = {.address = pc_place, .value = pc};
  notes.words[1] = {.address = fp_place, .value = fp};
  auto step = static_cast<std::uint32_t>(if_saved(kNotesOfSaved, kNotesOfUnchanged));
  if (from_fp) step &= kNotesButUse;
  std::memcpy(static_cast<void*>(&notes.step), &step, sizeof step);
  if (pc == 0) [[unlikely]] {
    return UnwindOutcome::kOutermost;
  }
  return memory.ends_at(cfa) ? UnwindOutcome::kBroken : UnwindOutcome::kCaller;
}

/// Steps from `frame` by `rule`, the unwind rule at the frame's call address. On `kCaller`,
/// `caller` contains the caller and the words read. Returns `kOutermost` also for a return address
/// of 0, which the creator of a stack stores. Checks that the caller lies further out only if
/// `rule.is_plain()` and `memory` has bounds. Runs inside malloc.
template <class Memory>
ALLOCTAP_ALWAYS_INLINE UnwindOutcome step_outwards(const UnwindFrame& frame, const UnwindRule& rule,
                                                   NotedFrame& caller, Memory& memory) noexcept {
  UnwindFrame found;
  return rule.is_plain() ? step_plainly(frame, rule, caller, found, memory)
                         : step_specially(frame, rule, caller, memory);
}

/// Returns the caller's stack pointer for a step by `rule`, the caller's unwind rule. If the ABI
/// ends frames with their records, the result is `record_end`, the end of the callee's frame
/// record. If `rule` does not read the stack pointer, the result is `record_end`, too, which is at
/// most the true value. Otherwise computes the result from the caller's record at `caller_fp`, or
/// returns 0 if `rule` does not state that record's distance from the CFA.
inline std::uintptr_t stack_pointer_beyond(std::uintptr_t record_end, std::uintptr_t caller_fp,
                                           const UnwindRule& rule) noexcept {
  const bool asks_for_it = rule.kind != UnwindRule::Kind::kNone &&
                           rule.kind != UnwindRule::Kind::kFromFramePointer &&
                           rule.kind != UnwindRule::Kind::kOutermost;
  if (arch::kRecordEndsFrame || !asks_for_it) return record_end;
  if (!rule.is_plain() || rule.fp_slot == UnwindRule::kUnchanged) return 0;
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  return caller_fp - static_cast<std::uintptr_t>(rule.fp_slot * kWord + rule.cfa_offset);
}

/// Steps from `frame`, which has no unwind rule, by the frame record at its frame pointer. Returns
/// `kNoTable` unless `frame` is in code and the record is plausible. A plausible record is aligned,
/// lies between `frame.sp` and `high` (the stack's end), has a return address in code, and leads to
/// a caller further out. Stores the words read in `caller`, even if the step fails. Needed for
/// JIT-compiled code and code built without unwind tables. Runs inside malloc.
template <class Rules, class Memory>
ALLOCTAP_NOINLINE UnwindOutcome step_by_record(const UnwindFrame& frame, NotedFrame& caller,
                                               std::uintptr_t high, const Rules& rules,
                                               Memory& memory) noexcept {
  caller.step = {};
  const std::uintptr_t record_end = frame.fp + sizeof(arch::FrameRecord);
  const bool inside = frame.fp >= frame.sp && record_end > frame.fp && record_end <= high;
  if (!arch::kHasFrameRecords || !inside || !rules.is_code(frame.call_address())) {
    return UnwindOutcome::kNoTable;
  }
  StepReader read(memory, caller);
  std::uintptr_t address = 0;
  if (!read(frame.fp + offsetof(arch::FrameRecord, return_address), address)) {
    return UnwindOutcome::kNoTable;
  }
  UnwindFrame& found = caller.frame;
  found = {.pc = arch::DwarfRegisters::strip_signature(address)};
  const UnwindRule rule = rules.find(found);
  if (rule.kind == UnwindRule::Kind::kNone && !rules.is_code(found.call_address())) {
    return UnwindOutcome::kNoTable;
  }
  caller.step.last_word_is_frame_pointer = true;
  if (!read(frame.fp, found.fp)) return UnwindOutcome::kNoTable;
  found.sp = stack_pointer_beyond(record_end, found.fp, rule);
  const bool is_further_out = found.sp >= record_end && found.sp <= high;
  if (!is_further_out) return UnwindOutcome::kNoTable;
  caller.step.by_record = true;
  return UnwindOutcome::kCaller;
}

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_step.hpp"
#endif
