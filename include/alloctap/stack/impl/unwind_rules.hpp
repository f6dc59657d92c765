/// Definitions for stack/unwind_rules.hpp.
#pragma once

#include <optional>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/elf/call_frame.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/pe/native_row.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

namespace unwind_rows {

inline constexpr std::int64_t kWord = sizeof(std::uintptr_t);

/// Returns `bytes` in words, or nullopt if not a multiple of a word or out of range.
template <class Slot>
constexpr std::optional<Slot> words(std::int64_t bytes) noexcept {
  const std::int64_t count = bytes / kWord;
  const bool fits = bytes % kWord == 0 && count >= std::numeric_limits<Slot>::min() &&
                    count < std::numeric_limits<Slot>::max();
  return fits ? std::optional(static_cast<Slot>(count)) : std::nullopt;
}

constexpr bool fits_offset(std::int64_t bytes) noexcept {
  return bytes >= std::numeric_limits<std::int32_t>::min() &&
         bytes <= std::numeric_limits<std::int32_t>::max();
}

/// Returns the offset if `expression` is "frame pointer + offset" or, if `then_loaded`, a load from
/// that address. Returns nullopt for other expressions (DWARF 5, 2.5.1: DW_OP_breg0 and up,
/// DW_OP_deref).
ALLOCTAP_INLINE std::optional<std::int64_t> frame_pointer_offset(
    std::span<const std::byte> expression, bool then_loaded) noexcept {
  constexpr auto kFramePointerBase = std::byte{0x70 + arch::DwarfRegisters::kFramePointer};
  constexpr std::byte kLoad{0x06};
  const std::size_t bytes = then_loaded ? 3 : 2;
  if (expression.size() != bytes || expression[0] != kFramePointerBase) return std::nullopt;
  if (then_loaded && expression[2] != kLoad) return std::nullopt;
  // One byte of SLEB128: seven bits, the topmost is the sign.
  const auto encoded = std::to_integer<std::uint8_t>(expression[1]);
  if (encoded >= 0x80) return std::nullopt;
  return encoded >= 0x40 ? std::int64_t{encoded} - 0x80 : std::int64_t{encoded};
}

/// Returns the rule if `row` is of a function in which GCC realigns the stack. In such functions
/// the CFA is stored in a word below the frame pointer.
ALLOCTAP_INLINE std::optional<UnwindRule> realigned(const elf::CallFrameRow& row) noexcept {
  using Rule = elf::RegisterRule;
  const Rule& saved = row.registers[arch::DwarfRegisters::kFramePointer];
  if (saved.kind != Rule::Kind::kAtExpression) return std::nullopt;
  const auto cfa = frame_pointer_offset(row.cfa.expression(), true);
  const auto fp = frame_pointer_offset(saved.expression(), false);
  if (!cfa || !fp) return std::nullopt;
  const auto slot = words<std::int16_t>(*fp);
  if (!slot) return std::nullopt;
  return UnwindRule{.cfa_offset = static_cast<std::int32_t>(*cfa),
                    .fp_slot = *slot,
                    .kind = UnwindRule::Kind::kRealigned};
}

/// Returns the rule if CFA = sp or fp + offset, and fp is unchanged or saved at CFA + offset.
ALLOCTAP_INLINE std::optional<UnwindRule> plain(const elf::CallFrameRow& row) noexcept {
  using Rule = elf::RegisterRule;
  UnwindRule rule;
  switch (row.cfa.register_number) {
    case arch::DwarfRegisters::kStackPointer:
      rule.kind = UnwindRule::Kind::kFromStackPointer;
      break;
    case arch::DwarfRegisters::kFramePointer:
      rule.kind = UnwindRule::Kind::kFromFramePointer;
      break;
    default:
      return std::nullopt;
  }
  if (!fits_offset(row.cfa.value)) return std::nullopt;
  rule.cfa_offset = static_cast<std::int32_t>(row.cfa.value);
  const Rule& saved = row.registers[arch::DwarfRegisters::kFramePointer];
  if (saved.kind == Rule::Kind::kUnspecified || saved.kind == Rule::Kind::kSameValue) return rule;
  if (saved.kind != Rule::Kind::kAtCfaPlus) return std::nullopt;
  const auto slot = words<std::int16_t>(saved.value);
  if (!slot || *slot >= UnwindRule::kUnchanged) return std::nullopt;
  rule.fp_slot = *slot;
  return rule;
}

/// Returns the `return_slot` for a return address at CFA + `bytes`; nullopt if not encodable.
constexpr std::optional<std::int8_t> return_slot(std::int64_t bytes,
                                                 const UnwindRule& rule) noexcept {
  const auto slot = words<std::int8_t>(bytes);
  if constexpr (arch::kRecordEndsFrame) {
    return slot == UnwindRule::kEndOfFrame ? slot : std::nullopt;
  }
  if (slot && *slot != UnwindRule::kInRecord) return slot;
  const bool in_record = rule.is_plain() && rule.fp_slot != UnwindRule::kUnchanged &&
                         bytes == (std::int64_t{rule.fp_slot} + 1) * kWord;
  return in_record ? std::optional(UnwindRule::kInRecord) : std::nullopt;
}

ALLOCTAP_INLINE std::optional<UnwindRule> rule_of_cfa(const elf::CallFrameRow& row) noexcept {
  switch (row.cfa.kind) {
    case elf::CfaRule::Kind::kRegisterPlusOffset:
      return plain(row);
    case elf::CfaRule::Kind::kExpression:
      return realigned(row);
    case elf::CfaRule::Kind::kUnspecified:
      break;
  }
  return std::nullopt;
}

}  // namespace unwind_rows

ALLOCTAP_INLINE UnwindRule rule_of(const elf::CallFrameRow& row) noexcept {
  constexpr UnwindRule kNeedsTable{.kind = UnwindRule::Kind::kNeedsTable};
  const elf::RegisterRule& address = row.return_address();
  if (address.kind == elf::RegisterRule::Kind::kUndefined) {
    return {.kind = UnwindRule::Kind::kOutermost};
  }
  if (row.signal_frame || row.return_address_signed ||
      address.kind != elf::RegisterRule::Kind::kAtCfaPlus) {
    return kNeedsTable;
  }
  // The caller's stack pointer defaults to the CFA.
  const auto stack_pointer = row.registers[arch::DwarfRegisters::kStackPointer].kind;
  if (stack_pointer != elf::RegisterRule::Kind::kUnspecified) return kNeedsTable;
  std::optional<UnwindRule> rule = unwind_rows::rule_of_cfa(row);
  if (!rule) return kNeedsTable;
  const auto slot = unwind_rows::return_slot(address.value, *rule);
  if (!slot) return kNeedsTable;
  rule->return_slot = *slot;
  return *rule;
}

/// An unwind table row, and scratch memory to search for it. Each thread has one object, because a
/// fiber's stack may be too small.
struct UnwindRowReader {
  elf::CallFrameRow row;
  native::RowSearch search;
};

ALLOCTAP_INLINE const elf::CallFrameRow* find_unwind_row(std::uintptr_t address) noexcept {
  ThreadState* const thread = ThreadStates::mine();
  auto* const reader = thread == nullptr ? nullptr : PerThread<UnwindRowReader>::of(*thread);
  if (reader == nullptr) return nullptr;
  const bool found = native::find_unwind_row(address, reader->row, reader->search);
  return found ? &reader->row : nullptr;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE UnwindRule UnwindRules::read_from_table(std::uintptr_t address,
                                                                          Epoch epoch) noexcept {
  const os::ErrnoGuard preserve_error;
  const elf::CallFrameRow* const row = find_unwind_row(address);
  if (row == nullptr) return {};
  const UnwindRule rule = rule_of(*row);
  cache_.keep(address, rule, epoch);
  return rule;
}

}  // namespace alloctap
