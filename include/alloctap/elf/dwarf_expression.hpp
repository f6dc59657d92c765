/// An evaluator of DWARF expressions in call frame rules (DWARF 5, 2.5.1). glibc has expressions
/// for signal frames, linkers for PLTs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/elf/byte_reader.hpp"
#include "alloctap/elf/dwarf_operation.hpp"
#include "alloctap/elf/dwarf_stack.hpp"
#include "alloctap/elf/register_file.hpp"
#include "alloctap/elf/word_reader.hpp"

namespace alloctap::elf {

/// An evaluator of one expression, used once. Loops end because it stops after `kMaxSteps`
/// operations. A branch out of the expression is an error. Runs inside malloc if `read_word` does.
class DwarfExpression {
 public:
  static constexpr std::size_t kMaxSteps = 1024;

  /// Keeps references to all arguments.
  DwarfExpression(std::span<const std::byte> bytes, const RegisterFile& registers,
                  WordReaderRef read_word) noexcept
      : bytes_(bytes), reader_(bytes), registers_(registers), read_word_(read_word) {}

  /// Returns the top of the stack at the end. Pushes `initial` first, if given, because expressions
  /// that compute a register start with the CFA on the stack. Returns nullopt if the expression is
  /// malformed or has an operation not allowed in call frame rules. Returns nullopt also if the
  /// expression needs an unknown register or an unreadable word.
  [[nodiscard]] std::optional<std::uintptr_t> evaluate(
      std::optional<std::uintptr_t> initial) noexcept {
    if (initial) stack_.push(*initial);
    for (std::size_t steps = 0; !reader_.at_end(); ++steps) {
      if (steps == kMaxSteps) return std::nullopt;
      execute(reader_.read<std::uint8_t>());
      if (!reader_.ok() || !stack_.ok()) return std::nullopt;
    }
    const std::uintptr_t result = stack_.pop();
    return stack_.ok() ? std::optional(result) : std::nullopt;
  }

 private:
  using Operation = DwarfOperation;

  void execute(std::uint8_t opcode) noexcept {
    const auto distance = [opcode](Operation first) {
      return static_cast<unsigned>(opcode) - static_cast<unsigned>(first);
    };
    if (distance(Operation::kLiteral0) < 32) return stack_.push(distance(Operation::kLiteral0));
    if (distance(Operation::kRegisterPlus0) < 32) {
      return push_register(distance(Operation::kRegisterPlus0));
    }
    const auto operation = static_cast<Operation>(opcode);
    const bool known = push_constant(operation) || rearrange(operation) || branch(operation) ||
                       load(operation) || change_top(operation);
    if (!known) combine(operation);
  }

  bool push_constant(Operation operation) noexcept {
    switch (operation) {
      case Operation::kConstant1Unsigned:
        return push_number<std::uint8_t>();
      case Operation::kConstant1Signed:
        return push_number<std::int8_t>();
      case Operation::kConstant2Unsigned:
        return push_number<std::uint16_t>();
      case Operation::kConstant2Signed:
        return push_number<std::int16_t>();
      case Operation::kConstant4Unsigned:
        return push_number<std::uint32_t>();
      case Operation::kConstant4Signed:
        return push_number<std::int32_t>();
      case Operation::kAddress:
      case Operation::kConstant8Unsigned:
      case Operation::kConstant8Signed:
        return push_number<std::uint64_t>();
      case Operation::kConstantUnsigned:
        stack_.push(reader_.read_uleb128());
        return true;
      case Operation::kConstantSigned:
        stack_.push(static_cast<std::uintptr_t>(reader_.read_sleb128()));
        return true;
      default:
        return false;
    }
  }

  bool rearrange(Operation operation) noexcept {
    switch (operation) {
      case Operation::kDuplicate:
        stack_.pick(0);
        return true;
      case Operation::kDrop:
        static_cast<void>(stack_.pop());
        return true;
      case Operation::kOver:
        stack_.pick(1);
        return true;
      case Operation::kPick:
        stack_.pick(reader_.read<std::uint8_t>());
        return true;
      case Operation::kSwap:
        stack_.swap();
        return true;
      case Operation::kRotate:
        stack_.rotate();
        return true;
      default:
        return operation == Operation::kNop;
    }
  }

  bool branch(Operation operation) noexcept {
    if (operation != Operation::kSkip && operation != Operation::kBranch) return false;
    const std::int64_t distance = reader_.read<std::int16_t>();
    if (operation == Operation::kSkip || stack_.pop() != 0) go_to(distance);
    return true;
  }

  bool load(Operation operation) noexcept {
    switch (operation) {
      case Operation::kRegisterPlus:
        push_register(reader_.read_uleb128());
        return true;
      case Operation::kDereference:
        stack_.push(read_memory(stack_.pop(), sizeof(std::uintptr_t)));
        return true;
      case Operation::kDereferenceSize: {
        const auto bytes = reader_.read<std::uint8_t>();
        stack_.push(read_memory(stack_.pop(), bytes));
        return true;
      }
      default:
        return false;
    }
  }

  bool change_top(Operation operation) noexcept {
    switch (operation) {
      case Operation::kAbsolute: {
        const std::uintptr_t top = stack_.pop();
        stack_.push(static_cast<std::intptr_t>(top) < 0 ? 0 - top : top);
        return true;
      }
      case Operation::kNegate:
        stack_.push(0 - stack_.pop());
        return true;
      case Operation::kNot:
        stack_.push(~stack_.pop());
        return true;
      case Operation::kPlusConstant:
        stack_.push(stack_.pop() + reader_.read_uleb128());
        return true;
      default:
        return false;
    }
  }

  void combine(Operation operation) noexcept {
    const std::uintptr_t right = stack_.pop();
    const std::uintptr_t left = stack_.pop();
    stack_.push(compute(operation, left, right));
  }

  template <class Number>
  bool push_number() noexcept {
    stack_.push(static_cast<std::uintptr_t>(reader_.read<Number>()));
    return true;
  }

  void push_register(std::uint64_t number) noexcept {
    const auto offset = static_cast<std::uintptr_t>(reader_.read_sleb128());
    const auto value = registers_.get(number);
    stack_.push(value ? std::optional(*value + offset) : std::nullopt);
  }

  /// Returns the low `bytes` bytes of the word at `address`. Correct because the supported
  /// architectures are little-endian.
  std::optional<std::uintptr_t> read_memory(std::uintptr_t address, unsigned bytes) noexcept {
    std::uintptr_t word = 0;
    if (!stack_.ok() || bytes == 0 || bytes > sizeof word || !read_word_(address, word)) {
      return std::nullopt;
    }
    const unsigned unused_bits = 8 * (static_cast<unsigned>(sizeof word) - bytes);
    return word << unused_bits >> unused_bits;
  }

  /// Branches by `distance`, counted from the next operation; the target may be the end.
  void go_to(std::int64_t distance) noexcept {
    const auto position = static_cast<std::int64_t>(bytes_.size() - reader_.rest().size());
    const std::int64_t target = position + distance;
    if (target < 0 || target > static_cast<std::int64_t>(bytes_.size())) return reader_.fail();
    if (reader_.ok()) reader_ = ByteReader(bytes_.subspan(static_cast<std::size_t>(target)));
  }

  std::span<const std::byte> bytes_;
  ByteReader reader_;
  const RegisterFile& registers_;
  WordReaderRef read_word_;
  DwarfStack stack_;
};

}  // namespace alloctap::elf
