#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/elf/call_frame.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace {

using namespace alloctap;
using elf::CallFrameRow;
using elf::CfaRule;
using elf::RegisterRule;
using Registers = arch::DwarfRegisters;

RegisterRule at_cfa(std::int64_t offset) {
  return {.kind = RegisterRule::Kind::kAtCfaPlus, .value = offset};
}

RegisterRule at_expression(std::span<const std::uint8_t> bytes) {
  return {.kind = RegisterRule::Kind::kAtExpression,
          .expression_bytes = static_cast<std::uint32_t>(bytes.size()),
          .value = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(bytes.data()))};
}

/// CFA = register + offset, and the return address below it.
CallFrameRow row_of(unsigned cfa_register, std::int64_t offset) {
  CallFrameRow row;
  row.cfa = {.kind = CfaRule::Kind::kRegisterPlusOffset,
             .register_number = static_cast<std::uint8_t>(cfa_register),
             .value = offset};
  row.return_address_register = Registers::kReturnAddress;
  row.registers[Registers::kReturnAddress] = at_cfa(-8);
  return row;
}

CallFrameRow from_stack_pointer(std::int64_t offset = 16) {
  return row_of(Registers::kStackPointer, offset);
}

bool needs_table(const CallFrameRow& row) {
  return rule_of(row).kind == UnwindRule::Kind::kNeedsTable;
}

/// DW_OP_breg of the frame pointer with an offset of one byte and, in three bytes, DW_OP_deref.
constexpr std::uint8_t kPointerBase = 0x70 + Registers::kFramePointer;
constexpr std::array<std::uint8_t, 3> kLoadBelowPointer{kPointerBase, 0x78, 0x06};
constexpr std::array<std::uint8_t, 2> kAtPointer{kPointerBase, 0x00};

/// What gcc says of a function that aligns its stack.
CallFrameRow realigned_row() {
  CallFrameRow row = from_stack_pointer();
  const RegisterRule cfa = at_expression(kLoadBelowPointer);
  row.cfa = {.kind = CfaRule::Kind::kExpression,
             .expression_bytes = cfa.expression_bytes,
             .value = cfa.value};
  row.registers[Registers::kFramePointer] = at_expression(kAtPointer);
  return row;
}

}  // namespace

TEST_CASE("a CFA from either pointer is a rule of its own") {
  CHECK(rule_of(from_stack_pointer(24)) == UnwindRule{.cfa_offset = 24,
                                                      .return_slot = -1,
                                                      .kind = UnwindRule::Kind::kFromStackPointer});
  CallFrameRow row = row_of(Registers::kFramePointer, 16);
  row.registers[Registers::kFramePointer] = at_cfa(-16);
  CHECK(rule_of(row) == UnwindRule{.cfa_offset = 16,
                                   .fp_slot = -2,
                                   .return_slot = -1,
                                   .kind = UnwindRule::Kind::kFromFramePointer});
}

TEST_CASE("a frame pointer that is said to be the same is the frame's own") {
  CallFrameRow row = from_stack_pointer();
  row.registers[Registers::kFramePointer].kind = RegisterRule::Kind::kSameValue;
  CHECK(rule_of(row).fp_slot == UnwindRule::kUnchanged);
  CHECK(rule_of(row).pointer_use() == FramePointerUse::kPassedOn);
  row.registers[Registers::kFramePointer] = at_cfa(-16);
  CHECK(rule_of(row).pointer_use() == FramePointerUse::kIgnored);
  CHECK(rule_of(row_of(Registers::kFramePointer, 16)).pointer_use() == FramePointerUse::kUsed);
}

TEST_CASE("offsets are kept up to their bounds and beyond them the table is asked") {
  constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
  CHECK(rule_of(from_stack_pointer(kMaxCount)).cfa_offset == kMaxCount);
  CHECK(rule_of(from_stack_pointer(kLeast)).cfa_offset == kLeast);
  CHECK(needs_table(from_stack_pointer(kMaxCount + 1)));
  CHECK(needs_table(from_stack_pointer(kLeast - 1)));
}

TEST_CASE("a place that is no whole number of words, or too far, needs the table") {
  CallFrameRow row = from_stack_pointer();
  for (const std::int64_t fits : {-8 * 32768, -16}) {
    row.registers[Registers::kFramePointer] = at_cfa(fits);
    CHECK(rule_of(row).fp_slot == fits / 8);
  }
  // Where the return address ends the frame, nothing is saved there or beyond.
  for (const std::int64_t outside : {-8, 0, 8, 8 * 32766}) {
    row.registers[Registers::kFramePointer] = at_cfa(outside);
    CHECK(needs_table(row) == alloctap::arch::kRecordEndsFrame);
    if (!needs_table(row)) CHECK(rule_of(row).fp_slot == outside / 8);
  }
  for (const std::int64_t wrong : {-8 * 32769, -7, -1, 1, 12, 8 * 32767, 8 * 32768}) {
    row.registers[Registers::kFramePointer] = at_cfa(wrong);
    CHECK(needs_table(row));
  }
  row = from_stack_pointer();
  row.registers[Registers::kReturnAddress] = at_cfa(-8);
  CHECK(rule_of(row).return_offset() == -8);
  for (const std::int64_t elsewhere : {-8 * 127, -16, 0, 8 * 126}) {
    row.registers[Registers::kReturnAddress] = at_cfa(elsewhere);
    CHECK(needs_table(row) == alloctap::arch::kRecordEndsFrame);
    if (!needs_table(row)) CHECK(rule_of(row).return_offset() == elsewhere);
  }
  for (const std::int64_t wrong : {-8 * 128, -8 * 129, -4, 8 * 127, 8 * 128}) {
    row.registers[Registers::kReturnAddress] = at_cfa(wrong);
    CHECK(needs_table(row));
  }
}

TEST_CASE("a return address far from the CFA is known by its record, where that may be anywhere") {
  for (const std::int64_t bytes : {-8 * 128, -8 * 129, -8 * 8194, 8 * 127}) {
    CallFrameRow row = from_stack_pointer();
    row.registers[Registers::kFramePointer] = at_cfa(bytes - 8);
    row.registers[Registers::kReturnAddress] = at_cfa(bytes);
    const UnwindRule rule = rule_of(row);
    if (alloctap::arch::kRecordEndsFrame) {
      CHECK(needs_table(row));
      continue;
    }
    CHECK(rule.return_offset() == bytes);
    CHECK(rule.fp_slot == bytes / 8 - 1);
    row.registers[Registers::kFramePointer] = at_cfa(bytes + 8);
    CHECK(needs_table(row));
    row.registers[Registers::kFramePointer] = {};
    CHECK(needs_table(row));
  }
}

TEST_CASE("a return address that is undefined belongs to the outermost frame") {
  CallFrameRow row = from_stack_pointer();
  row.registers[Registers::kReturnAddress].kind = RegisterRule::Kind::kUndefined;
  CHECK(rule_of(row).kind == UnwindRule::Kind::kOutermost);
  row.signal_frame = true;
  CHECK(rule_of(row).kind == UnwindRule::Kind::kOutermost);
}

TEST_CASE("signal frames, signatures, other registers and other rules need the table") {
  CallFrameRow row = from_stack_pointer();
  row.signal_frame = true;
  CHECK(needs_table(row));
  row = from_stack_pointer();
  row.return_address_signed = true;
  CHECK(needs_table(row));
  CHECK(needs_table(row_of(3, 16)));
  row = from_stack_pointer();
  row.registers[Registers::kStackPointer] = at_cfa(-24);
  CHECK(needs_table(row));
  row = from_stack_pointer();
  row.cfa.kind = CfaRule::Kind::kUnspecified;
  CHECK(needs_table(row));
  for (const auto kind : {RegisterRule::Kind::kInRegister, RegisterRule::Kind::kCfaPlus,
                          RegisterRule::Kind::kUndefined, RegisterRule::Kind::kExpressionValue}) {
    row = from_stack_pointer();
    row.registers[Registers::kFramePointer] = {.kind = kind, .value = 3};
    CHECK(needs_table(row));
    if (kind == RegisterRule::Kind::kUndefined) continue;
    row = from_stack_pointer();
    row.registers[Registers::kReturnAddress] = {.kind = kind, .value = 3};
    CHECK(needs_table(row));
  }
}

TEST_CASE("functions that align their stack have a rule of their own") {
  CHECK(rule_of(realigned_row()) == UnwindRule{.cfa_offset = -8,
                                               .fp_slot = 0,
                                               .return_slot = -1,
                                               .kind = UnwindRule::Kind::kRealigned});
  CHECK(rule_of(realigned_row()).pointer_use() == FramePointerUse::kUsed);
}

TEST_CASE("expressions of another form need the table") {
  using Bytes = std::array<std::uint8_t, 3>;
  // Another register, an offset of two bytes, another operation behind it.
  constexpr std::array<Bytes, 3> kOthers{
      {{kPointerBase + 1, 0x78, 0x06}, {kPointerBase, 0xF8, 0x06}, {kPointerBase, 0x78, 0x22}}};
  for (const Bytes& bytes : kOthers) {
    CallFrameRow row = realigned_row();
    row.cfa.value = at_expression(bytes).value;
    CHECK(needs_table(row));
  }
  CallFrameRow row = realigned_row();
  row.cfa.expression_bytes = 2;
  CHECK(needs_table(row));
  row = realigned_row();
  row.registers[Registers::kFramePointer] = at_expression(kLoadBelowPointer);
  CHECK(needs_table(row));
  row.registers[Registers::kFramePointer] = at_cfa(-16);
  CHECK(needs_table(row));
  static constexpr std::array<std::uint8_t, 2> kUnaligned{kPointerBase, 0x04};
  row.registers[Registers::kFramePointer] = at_expression(kUnaligned);
  CHECK(needs_table(row));
}
