/// The frame that a hooked function was called from.
#pragma once

#include <cstdint>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/arch/frame_record.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_frame.hpp"
#include "alloctap/stack/unwind_rule.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// Where the record does not end the frame: it is where the caller's frame pointer was saved, and
/// the rule of the function says how far that is from the caller's stack pointer. 0 where it does
/// not say. Takes any origin, so that only what is called for is compiled.
template <class Origin>
std::uintptr_t caller_stack_pointer(const Origin& origin) noexcept {
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  const UnwindRule rule = UnwindRules::find(origin.place.address, UnwindRules::epoch());
  if (!rule.is_plain() || rule.fp_slot == UnwindRule::kUnchanged) return 0;
  return reinterpret_cast<std::uintptr_t>(origin.frame) -
         static_cast<std::uintptr_t>(rule.fp_slot * kWord);
}

/// By the registers that the function had at `origin.place`, where it makes no frame record. A
/// stack pointer of 0 where its rule does not lead to the caller.
template <class Origin>
UnwindFrame caller_by_registers(const Origin& origin) noexcept {
  const auto& place = origin.place;
  const UnwindRule rule = UnwindRules::find(place.address, UnwindRules::epoch());
  if (!rule.is_plain()) return {};
  const bool from_fp = rule.kind == UnwindRule::Kind::kFromFramePointer;
  const std::uintptr_t base = from_fp ? place.frame_pointer : place.stack_pointer;
  const auto above = [&](std::int64_t bytes) { return base + static_cast<std::uintptr_t>(bytes); };
  const bool fp_saved = rule.fp_slot != UnwindRule::kUnchanged;
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  return {.pc = load_word(above(rule.cfa_offset + rule.return_offset())),
          .sp = above(rule.cfa_offset),
          .fp = fp_saved ? load_word(above(rule.cfa_offset + rule.fp_slot * kWord))
                         : place.frame_pointer};
}

/// By the record at `origin.frame`.
template <bool kByRecords, class Origin>
ALLOCTAP_ALWAYS_INLINE UnwindFrame caller_by_record(const Origin& origin) noexcept {
  const auto* record = static_cast<const arch::FrameRecord*>(origin.frame);
  const auto load = [](const std::uintptr_t& word) {
    return load_word(reinterpret_cast<std::uintptr_t>(&word));
  };
  if constexpr (kByRecords || arch::kRecordEndsFrame) {
    return {.pc = load(record->return_address),
            .sp = arch::stack_pointer_of_caller(record),
            .fp = load(record->caller_frame)};
  } else {
    return {.pc = arch::DwarfRegisters::strip_signature(load(record->return_address)),
            .sp = caller_stack_pointer(origin),
            .fp = load(record->caller_frame)};
  }
}

/// Whether `calling_frame` always finds it.
inline constexpr bool kCallerIsSure = arch::kHasFrameRecords && arch::kRecordEndsFrame;

/// The frame that the function of `origin`, which has a frame address, returns to; a stack pointer
/// of 0 where it cannot be found. With `kByRecords`, for walks that go from record to record, it is
/// the one behind the record. Runs inside malloc.
template <bool kByRecords, class Origin>
ALLOCTAP_ALWAYS_INLINE UnwindFrame calling_frame(const Origin& origin) noexcept {
  if constexpr (!arch::kHasFrameRecords) {
    return caller_by_registers(origin);
  } else {
    return caller_by_record<kByRecords>(origin);
  }
}

}  // namespace alloctap
