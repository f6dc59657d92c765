/// What call frame instructions are, and how they are written (DWARF 5, 6.4.2 and 7.24; GNU and
/// AArch64 ones as in binutils' dwarf2.def).
#pragma once

#include <array>
#include <cstdint>

#include "alloctap/elf/call_frame.hpp"

namespace alloctap::elf {

/// One instruction, whatever way it was written in: several opcodes differ only in how wide or how
/// signed their operands are.
struct CallFrameOperation {
  enum class Action : std::uint8_t {
    kUnknown,
    kNothing,
    /// The location grows by `value`.
    kAdvance,
    /// The location becomes `value`.
    kSetLocation,
    /// The CFA becomes `register_number` + `value`.
    kSetCfa,
    kSetCfaRegister,
    kSetCfaOffset,
    kSetCfaExpression,
    /// The rule of `register_number` becomes `rule_kind` of `value`.
    kSetRule,
    /// It becomes what it was at the start of the function.
    kRestoreRule,
    kRememberRow,
    kRestoreRow,
    kToggleSignature,
  };

  Action action = Action::kUnknown;
  RegisterRule::Kind rule_kind = RegisterRule::Kind::kUnspecified;
  /// Of an expression: its bytes.
  std::uint32_t expression_bytes = 0;
  std::uint64_t register_number = 0;
  /// In bytes: alignment factors are applied. Or an address.
  std::int64_t value = 0;
};

/// How the operands of one opcode are written, and what they are for.
struct CallFrameFormat {
  enum class Operand : std::uint8_t {
    kNone,
    /// ULEB128, to `register_number`. All others go to `value`.
    kRegister,
    kUnsigned,
    /// Times the alignment of data.
    kFactoredUnsigned,
    kFactoredSigned,
    kFactoredNegated,
    /// 1, 2 or 4 bytes, times the alignment of code.
    kDelta1,
    kDelta2,
    kDelta4,
    kAddress,
    kExpression,
  };

  CallFrameOperation::Action action = CallFrameOperation::Action::kUnknown;
  Operand first = Operand::kNone;
  Operand second = Operand::kNone;
  RegisterRule::Kind rule_kind = RegisterRule::Kind::kUnspecified;
};

/// By opcode, but for the three that have an operand in the opcode itself.
inline constexpr auto kCallFrameFormats = [] {
  using Action = CallFrameOperation::Action;
  using Rule = RegisterRule::Kind;
  using enum CallFrameFormat::Operand;
  const auto rule = [](Rule kind, CallFrameFormat::Operand operand = kNone) {
    return CallFrameFormat{Action::kSetRule, kRegister, operand, kind};
  };
  std::array<CallFrameFormat, 0x30> formats{};
  formats[0x00] = {Action::kNothing};                             // nop
  formats[0x01] = {Action::kSetLocation, kAddress};               // set_loc
  formats[0x02] = {Action::kAdvance, kDelta1};                    // advance_loc1
  formats[0x03] = {Action::kAdvance, kDelta2};                    // advance_loc2
  formats[0x04] = {Action::kAdvance, kDelta4};                    // advance_loc4
  formats[0x05] = rule(Rule::kAtCfaPlus, kFactoredUnsigned);      // offset_extended
  formats[0x06] = {Action::kRestoreRule, kRegister};              // restore_extended
  formats[0x07] = rule(Rule::kUndefined);                         // undefined
  formats[0x08] = rule(Rule::kSameValue);                         // same_value
  formats[0x09] = rule(Rule::kInRegister, kUnsigned);             // register
  formats[0x0A] = {Action::kRememberRow};                         // remember_state
  formats[0x0B] = {Action::kRestoreRow};                          // restore_state
  formats[0x0C] = {Action::kSetCfa, kRegister, kUnsigned};        // def_cfa
  formats[0x0D] = {Action::kSetCfaRegister, kRegister};           // def_cfa_register
  formats[0x0E] = {Action::kSetCfaOffset, kUnsigned};             // def_cfa_offset
  formats[0x0F] = {Action::kSetCfaExpression, kExpression};       // def_cfa_expression
  formats[0x10] = rule(Rule::kAtExpression, kExpression);         // expression
  formats[0x11] = rule(Rule::kAtCfaPlus, kFactoredSigned);        // offset_extended_sf
  formats[0x12] = {Action::kSetCfa, kRegister, kFactoredSigned};  // def_cfa_sf
  formats[0x13] = {Action::kSetCfaOffset, kFactoredSigned};       // def_cfa_offset_sf
  formats[0x14] = rule(Rule::kCfaPlus, kFactoredUnsigned);        // val_offset
  formats[0x15] = rule(Rule::kCfaPlus, kFactoredSigned);          // val_offset_sf
  formats[0x16] = rule(Rule::kExpressionValue, kExpression);      // val_expression
  // SPARC's GNU_window_save has the same number; there are no rows for SPARC here.
  if (arch::DwarfRegisters::kMaySignReturnAddress) {
    formats[0x2D] = {Action::kToggleSignature};  // negate_ra_state
  }
  formats[0x2E] = {Action::kNothing, kUnsigned};             // GNU_args_size
  formats[0x2F] = rule(Rule::kAtCfaPlus, kFactoredNegated);  // GNU_negative_offset_extended
  return formats;
}();

}  // namespace alloctap::elf
