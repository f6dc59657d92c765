/// Goes from one frame to its caller by the row that holds there, whatever the row needs.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/dwarf_expression.hpp"
#include "alloctap/elf/register_file.hpp"
#include "alloctap/elf/word_reader.hpp"

namespace alloctap::elf {

/// What is known of a caller.
struct CallFrameStep {
  enum class Outcome : std::uint8_t {
    kCaller,
    /// There is no caller: the return address is said to be undefined, or is 0.
    kOutermost,
    /// A rule needs a register that is unknown or a word that may not be read.
    kFailed,
  };

  Outcome outcome = Outcome::kFailed;
  /// Where the caller continues. Its row is the one of `pc - 1`, or of `pc` where `pc_is_exact`.
  std::uintptr_t pc = 0;
  std::uintptr_t cfa = 0;
  /// The frame was pushed by a signal: its caller did not call.
  bool pc_is_exact = false;
  /// The caller's, with kCaller. The stack pointer is the CFA where no rule says else. What the
  /// ABI lets functions destroy is unknown, unless a rule restores it. x86-64's column of the
  /// return address is the caller's `pc`; AArch64's link register is unknown.
  RegisterFile registers;
};

/// What the rules of one row yield.
class CallFrameRules {
 public:
  /// Refers to all of them.
  CallFrameRules(const CallFrameRow& row, const RegisterFile& registers,
                 WordReaderRef read_word) noexcept
      : row_(row), registers_(registers), read_word_(read_word) {}

  [[nodiscard]] std::optional<std::uintptr_t> find_cfa() const noexcept {
    const CfaRule& rule = row_.cfa;
    if (rule.kind == CfaRule::Kind::kExpression) return evaluate(rule.expression(), std::nullopt);
    if (rule.kind != CfaRule::Kind::kRegisterPlusOffset) return std::nullopt;
    const auto value = registers_.get(rule.register_number);
    return value ? std::optional(*value + static_cast<std::uintptr_t>(rule.value)) : std::nullopt;
  }

  /// The caller's value of a register.
  [[nodiscard]] std::optional<std::uintptr_t> find_register(std::size_t number,
                                                            std::uintptr_t cfa) const noexcept {
    const RegisterRule& rule = row_.registers[number];
    const std::uintptr_t cfa_plus = cfa + static_cast<std::uintptr_t>(rule.value);
    switch (rule.kind) {
      case RegisterRule::Kind::kUnspecified:
        if (number == arch::DwarfRegisters::kStackPointer) return cfa;
        return arch::DwarfRegisters::is_preserved(static_cast<unsigned>(number))
                   ? registers_.get(number)
                   : std::nullopt;
      case RegisterRule::Kind::kUndefined:
        return std::nullopt;
      case RegisterRule::Kind::kSameValue:
        return registers_.get(number);
      case RegisterRule::Kind::kAtCfaPlus:
        return read(cfa_plus);
      case RegisterRule::Kind::kCfaPlus:
        return cfa_plus;
      case RegisterRule::Kind::kInRegister:
        return registers_.get(static_cast<std::uint64_t>(rule.value));
      case RegisterRule::Kind::kAtExpression:
        return read(evaluate(rule.expression(), cfa));
      case RegisterRule::Kind::kExpressionValue:
        return evaluate(rule.expression(), cfa);
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<std::uintptr_t> evaluate(
      std::span<const std::byte> expression, std::optional<std::uintptr_t> initial) const noexcept {
    return DwarfExpression(expression, registers_, read_word_).evaluate(initial);
  }

  [[nodiscard]] std::optional<std::uintptr_t> read(
      std::optional<std::uintptr_t> address) const noexcept {
    std::uintptr_t word = 0;
    return address && read_word_(*address, word) ? std::optional(word) : std::nullopt;
  }

  const CallFrameRow& row_;
  const RegisterFile& registers_;
  WordReaderRef read_word_;
};

/// Applies `row` to the registers of its frame; those of the innermost frame should have the
/// program counter on x86-64, which rules of a PLT use. `read_word` reads the stack. Does not check
/// that the caller lies further out: a loop over frames has to, or to count. Needs about 1 KB of
/// stack; runs anywhere that `read_word` does.
inline CallFrameStep step_to_caller(const CallFrameRow& row, const RegisterFile& registers,
                                    WordReaderRef read_word) noexcept {
  using Registers = arch::DwarfRegisters;
  CallFrameStep step;
  const CallFrameRules rules(row, registers, read_word);
  const auto kind = row.return_address().kind;
  if (kind == RegisterRule::Kind::kUndefined) {
    step.outcome = CallFrameStep::Outcome::kOutermost;
    return step;
  }
  // A function that returns to where it is.
  if (kind == RegisterRule::Kind::kSameValue && Registers::kReturnAddressIsProgramCounter) {
    return step;
  }
  const auto cfa = rules.find_cfa();
  if (!cfa) return step;
  auto pc = rules.find_register(row.return_address_register, *cfa);
  if (!pc) return step;
  if (row.return_address_signed) pc = Registers::strip_signature(*pc);
  step.pc = *pc;
  step.cfa = *cfa;
  step.pc_is_exact = row.signal_frame;
  step.outcome = *pc == 0 ? CallFrameStep::Outcome::kOutermost : CallFrameStep::Outcome::kCaller;
  for (std::size_t number = 0; number < RegisterFile::kCount; ++number) {
    step.registers.set(number, rules.find_register(number, *cfa));
  }
  const auto own_pc = Registers::kReturnAddressIsProgramCounter ? pc : std::nullopt;
  step.registers.set(row.return_address_register, own_pc);
  return step;
}

}  // namespace alloctap::elf
