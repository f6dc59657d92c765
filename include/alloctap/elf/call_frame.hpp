/// How the caller's registers follow from a function's at one address: a row of the table that call
/// frame instructions describe (DWARF 5, 6.4.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"

namespace alloctap::elf {

/// Where the caller's value of one register is. 16 bytes, since a dozen rows are kept on the stack
/// of a thread inside malloc.
struct RegisterRule {
  enum class Kind : std::uint8_t {
    /// Nothing was said; what that means depends on the register.
    kUnspecified,
    /// It is lost. Of the return address: this is the outermost frame.
    kUndefined,
    kSameValue,
    /// In memory at CFA + offset.
    kAtCfaPlus,
    /// CFA + offset itself.
    kCfaPlus,
    /// In another register.
    kInRegister,
    /// In memory at the address that an expression yields.
    kAtExpression,
    /// What an expression yields.
    kExpressionValue,
  };

  Kind kind = Kind::kUnspecified;
  /// Of an expression: its bytes.
  std::uint32_t expression_bytes = 0;
  /// The offset, the other register's number, or where the expression's bytes are.
  std::int64_t value = 0;

  [[nodiscard]] std::span<const std::byte> expression() const noexcept {
    return {reinterpret_cast<const std::byte*>(value), expression_bytes};
  }
  friend bool operator==(const RegisterRule&, const RegisterRule&) = default;
};

/// How the canonical frame address follows from the registers: on the architectures known here, the
/// caller's stack pointer behind its call.
struct CfaRule {
  enum class Kind : std::uint8_t {
    kUnspecified,
    kRegisterPlusOffset,
    kExpression,
  };

  Kind kind = Kind::kUnspecified;
  /// Below `arch::DwarfRegisters::kCount`.
  std::uint8_t register_number = 0;
  /// Of an expression: its bytes.
  std::uint32_t expression_bytes = 0;
  /// The offset, or where the expression's bytes are.
  std::int64_t value = 0;

  [[nodiscard]] std::span<const std::byte> expression() const noexcept {
    return {reinterpret_cast<const std::byte*>(value), expression_bytes};
  }
  friend bool operator==(const CfaRule&, const CfaRule&) = default;
};

/// What holds at `[begin, end)`. Expressions point into the module's tables: a row is of no use
/// once the module is unmapped.
struct CallFrameRow {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  CfaRule cfa;
  /// By DWARF number.
  std::array<RegisterRule, arch::DwarfRegisters::kCount> registers{};
  /// Below `kCount`.
  std::uint8_t return_address_register = 0;
  /// The caller was interrupted at the return address, and did not call from before it.
  bool signal_frame = false;
  /// The return address carries a signature (AArch64 pointer authentication).
  bool return_address_signed = false;
  /// There were rules for registers that are not kept, such as vectors, here or further up.
  bool has_other_rules = false;

  [[nodiscard]] const RegisterRule& return_address() const noexcept {
    return registers[return_address_register];
  }
};

}  // namespace alloctap::elf
