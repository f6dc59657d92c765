/// The DWARF expression operations allowed in call frame information. Operations with frame base,
/// calls, types or thread-local storage are not allowed (DWARF 5, 2.5.1, 6.4.2 and 7.7.1).
#pragma once

#include <cstdint>

namespace alloctap::elf {

enum class DwarfOperation : std::uint8_t {
  kAddress = 0x03,
  kDereference = 0x06,
  kConstant1Unsigned = 0x08,
  kConstant1Signed = 0x09,
  kConstant2Unsigned = 0x0A,
  kConstant2Signed = 0x0B,
  kConstant4Unsigned = 0x0C,
  kConstant4Signed = 0x0D,
  kConstant8Unsigned = 0x0E,
  kConstant8Signed = 0x0F,
  kConstantUnsigned = 0x10,
  kConstantSigned = 0x11,
  kDuplicate = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kRotate = 0x17,
  kAbsolute = 0x19,
  kAnd = 0x1A,
  kDivide = 0x1B,
  kMinus = 0x1C,
  kModulo = 0x1D,
  kMultiply = 0x1E,
  kNegate = 0x1F,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusConstant = 0x23,
  kShiftLeft = 0x24,
  kShiftRight = 0x25,
  kShiftRightArithmetic = 0x26,
  kXor = 0x27,
  kBranch = 0x28,
  kEqual = 0x29,
  kGreaterOrEqual = 0x2A,
  kGreater = 0x2B,
  kLessOrEqual = 0x2C,
  kLess = 0x2D,
  kNotEqual = 0x2E,
  kSkip = 0x2F,
  /// The first of 32 operations that push a number, and of 32 that push a register plus an operand.
  kLiteral0 = 0x30,
  kLiteral31 = 0x4F,
  kRegisterPlus0 = 0x70,
  kRegisterPlus31 = 0x8F,
  kRegisterPlus = 0x92,
  kDereferenceSize = 0x94,
  kNop = 0x96,
};

}  // namespace alloctap::elf
