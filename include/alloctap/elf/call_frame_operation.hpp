/// Call frame instructions and their encodings (DWARF 5, 6.4.2 and 7.24; GNU and AArch64 extensions
/// as in binutils' dwarf2.def).
#pragma once

#include <array>
#include <cstdint>

#include "alloctap/elf/call_frame.hpp"

namespace alloctap::elf {

/// A decoded instruction. Opcodes that differ only in width or sign of operands have one `Action`.
struct CallFrameOperation {
  enum class Action : std::uint8_t {
    kUnknown,
    kNothing,
    /// Adds `value` to the location.
    kAdvance,
    /// Sets the location to `value`.
    kSetLocation,
    /// Sets the CFA to `register_number` + `value`.
    kSetCfa,
    kSetCfaRegister,
    kSetCfaOffset,
    kSetCfaExpression,
    /// Sets the rule of `register_number` to `rule_kind` with `value`.
    kSetRule,
    /// Resets the rule of `register_number` to the rule that the CIE's instructions set.
    kRestoreRule,
    kRememberRow,
    kRestoreRow,
    kToggleSignature,
  };

  Action action = Action::kUnknown;
  RegisterRule::Kind rule_kind = RegisterRule::Kind::kUnspecified;
  /// The length of the expression, if any.
  std::uint32_t expression_bytes = 0;
  std::uint64_t register_number = 0;
  /// A number of bytes, already multiplied by the alignment factor, or an address.
  std::int64_t value = 0;
};

/// The operand encodings of one opcode, and its action.
struct CallFrameFormat {
  enum class Operand : std::uint8_t {
    kNone,
    /// ULEB128, stored in `register_number`. All other operands are stored in `value`.
    kRegister,
    kUnsigned,
    /// Multiplied by the data alignment factor.
    kFactoredUnsigned,
    kFactoredSigned,
    kFactoredNegated,
    /// 1, 2 or 4 bytes, multiplied by the code alignment factor.
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

/// The format of each opcode, except for the three opcodes with an embedded operand.
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
  // This number is also GNU_window_save of SPARC, which is not supported.
  if (arch::DwarfRegisters::kMaySignReturnAddress) {
    formats[0x2D] = {Action::kToggleSignature};  // negate_ra_state
  }
  formats[0x2E] = {Action::kNothing, kUnsigned};             // GNU_args_size
  formats[0x2F] = rule(Rule::kAtCfaPlus, kFactoredNegated);  // GNU_negative_offset_extended
  return formats;
}();

}  // namespace alloctap::elf
