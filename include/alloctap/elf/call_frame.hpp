/// A row of the unwind table: rules that recover the caller's registers (DWARF 5, 6.4.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"

namespace alloctap::elf {

/// A rule that recovers the caller's value of one register. Limited to 16 bytes, because each row
/// has many rules, and code inside malloc holds a dozen rows.
struct RegisterRule {
  enum class Kind : std::uint8_t {
    /// The row has no rule for the register, so the ABI's default applies.
    kUnspecified,
    /// The value is lost. A frame whose return address is lost is the outermost frame.
    kUndefined,
    kSameValue,
    /// Saved in memory at CFA + offset.
    kAtCfaPlus,
    /// The value is CFA + offset.
    kCfaPlus,
    /// Saved in another register.
    kInRegister,
    /// Saved in memory at the address that a DWARF expression computes.
    kAtExpression,
    /// The value is the result of a DWARF expression.
    kExpressionValue,
  };

  Kind kind = Kind::kUnspecified;
  /// The length of the expression, for kinds that have one.
  std::uint32_t expression_bytes = 0;
  /// The offset, the other register's number, or the expression's address, depending on `kind`.
  std::int64_t value = 0;

  [[nodiscard]] std::span<const std::byte> expression() const noexcept {
    return {reinterpret_cast<const std::byte*>(value), expression_bytes};
  }
  friend bool operator==(const RegisterRule&, const RegisterRule&) = default;
};

/// The rule that computes the canonical frame address (CFA). On the supported architectures, the
/// CFA is the caller's stack pointer after the call returns.
struct CfaRule {
  enum class Kind : std::uint8_t {
    kUnspecified,
    kRegisterPlusOffset,
    kExpression,
  };

  Kind kind = Kind::kUnspecified;
  /// Below `arch::DwarfRegisters::kCount`.
  std::uint8_t register_number = 0;
  /// The length of the expression, if `kind` is `kExpression`.
  std::uint32_t expression_bytes = 0;
  /// The offset or, if `kind` is `kExpression`, the address of the expression.
  std::int64_t value = 0;

  [[nodiscard]] std::span<const std::byte> expression() const noexcept {
    return {reinterpret_cast<const std::byte*>(value), expression_bytes};
  }
  friend bool operator==(const CfaRule&, const CfaRule&) = default;
};

/// The rules for code addresses `[begin, end)`. Expressions point into the module's tables, so a
/// row is invalid once the module is unmapped.
struct CallFrameRow {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  CfaRule cfa;
  /// Indexed by DWARF number.
  std::array<RegisterRule, arch::DwarfRegisters::kCount> registers{};
  /// Below `arch::DwarfRegisters::kCount`.
  std::uint8_t return_address_register = 0;
  /// Whether a signal interrupted the caller at the return address, so that the caller made no
  /// call.
  bool signal_frame = false;
  /// The return address is signed (AArch64 pointer authentication).
  bool return_address_signed = false;
  /// This or an earlier row has rules for untracked registers, such as vector registers.
  bool has_other_rules = false;

  [[nodiscard]] const RegisterRule& return_address() const noexcept {
    return registers[return_address_register];
  }
};

}  // namespace alloctap::elf
