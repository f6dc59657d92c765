/// One unwind step with all registers: applies a row to a frame's registers.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/elf/byte_reader.hpp"
#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/dwarf_expression.hpp"

namespace alloctap::elf {

/// The result of a step to the caller.
struct CallFrameStep {
  enum class Outcome : std::uint8_t {
    kCaller,
    /// The frame has no caller, because its return address is undefined or 0.
    kOutermost,
    /// A rule needs an unknown register, or a word that cannot be read.
    kFailed,
  };

  Outcome outcome = Outcome::kFailed;
  /// The return address in the caller, whose row is at `pc - 1`, or at `pc` if `pc_is_exact`.
  std::uintptr_t pc = 0;
  std::uintptr_t cfa = 0;
  /// Whether a signal pushed the frame, so that its caller was interrupted and did not call.
  bool pc_is_exact = false;
  /// The caller's registers, if `outcome` is `kCaller`. The stack pointer is the CFA unless it has
  /// a rule. Caller-saved registers are unknown unless a rule restores them. On x86-64, the
  /// register of the return address column is `pc`. On AArch64, the link register is unknown.
  RegisterFile registers;
};

/// An evaluator of one row's rules.
class CallFrameRules {
 public:
  /// Keeps references to all arguments.
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

  /// Returns the caller's value of a register, or nullopt if unknown.
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

/// Applies `row` to its frame's `registers`. On x86-64, the registers of the innermost frame should
/// include the program counter, because rules of PLT entries use it. `read_word` reads the stack.
/// Does not check that the caller's frame lies further out: a loop over frames must check that, or
/// bound its steps. Needs about 1 KB of stack. Runs inside malloc if `read_word` does.
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
  // The rule "same value" for the pc would mean that the function returns to its own pc.
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
