/// One unwind step by frame record, for code that has no unwind table but keeps frame pointers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/arch/frame_record.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/unwind_frame.hpp"
#include "alloctap/stack/unwind_rule.hpp"
#include "alloctap/stack/unwind_step.hpp"

namespace alloctap {

/// Returns the caller's stack pointer for a step by `rule`, the caller's unwind rule. The result is
/// `record_end`, the end of the callee's frame record, if the ABI ends frames with their records.
/// Otherwise the result is computed from the caller's record at `caller_fp`. Returns 0 if `rule`
/// does not state the distance of the caller's record from the CFA. If `rule` does not read the
/// stack pointer, returns `record_end`, which is at most the true value.
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
