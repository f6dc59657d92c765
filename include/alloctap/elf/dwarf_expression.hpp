/// An evaluator of DWARF expressions in call frame rules: operations, operand stack, evaluation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/elf/byte_reader.hpp"

namespace alloctap::elf {

/// The operations allowed in call frame rules, which exclude those with frame base, calls, types or
/// thread-local storage (DWARF 5, 2.5.1, 6.4.2 and 7.7.1).
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
  /// Bounds of 32 operations that push a number, and of 32 that push a register plus an operand.
  kLiteral0 = 0x30,
  kLiteral31 = 0x4F,
  kRegisterPlus0 = 0x70,
  kRegisterPlus31 = 0x8F,
  kRegisterPlus = 0x92,
  kDereferenceSize = 0x94,
  kNop = 0x96,
};

/// A fixed-size stack of words with a sticky error on overflow and underflow. Runs inside malloc.
class DwarfStack {
 public:
  /// Expressions of GCC and glibc use four words.
  static constexpr std::size_t kMaxWords = 32;

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  void fail() noexcept { ok_ = false; }

  void push(std::uintptr_t word) noexcept {
    if (count_ == kMaxWords) return fail();
    words_[count_++] = word;
  }

  /// Pushes `word`; fails if it is nullopt.
  void push(std::optional<std::uintptr_t> word) noexcept { word ? push(*word) : fail(); }

  [[nodiscard]] std::uintptr_t pop() noexcept {
    if (count_ != 0) return words_[--count_];
    fail();
    return 0;
  }

  /// Pushes a copy of the word at `depth`, counted from the top.
  void pick(std::size_t depth) noexcept {
    depth < count_ ? push(words_[count_ - 1 - depth]) : fail();
  }

  void swap() noexcept {
    const std::uintptr_t top = pop();
    const std::uintptr_t second = pop();
    push(top);
    push(second);
  }

  /// Moves the top word below the third.
  void rotate() noexcept {
    const std::uintptr_t top = pop();
    const std::uintptr_t second = pop();
    const std::uintptr_t third = pop();
    push(top);
    push(third);
    push(second);
  }

 private:
  std::array<std::uintptr_t, kMaxWords> words_;
  std::size_t count_ = 0;
  bool ok_ = true;
};

/// Returns 1 or 0, comparing signed words. Returns nullopt if `operation` is no comparison.
inline std::optional<std::uintptr_t> compare(DwarfOperation operation, std::uintptr_t left,
                                             std::uintptr_t right) noexcept {
  const auto signed_left = static_cast<std::intptr_t>(left);
  const auto signed_right = static_cast<std::intptr_t>(right);
  switch (operation) {
    case DwarfOperation::kEqual:
      return left == right;
    case DwarfOperation::kNotEqual:
      return left != right;
    case DwarfOperation::kGreaterOrEqual:
      return signed_left >= signed_right;
    case DwarfOperation::kGreater:
      return signed_left > signed_right;
    case DwarfOperation::kLessOrEqual:
      return signed_left <= signed_right;
    case DwarfOperation::kLess:
      return signed_left < signed_right;
    default:
      return std::nullopt;
  }
}

/// Divides signed words; the minimum divided by -1 is the minimum. Returns nullopt for division by
/// zero.
inline std::optional<std::uintptr_t> divide(std::uintptr_t left, std::uintptr_t right) noexcept {
  const auto divisor = static_cast<std::intptr_t>(right);
  if (divisor == 0) return std::nullopt;
  if (divisor == -1) return 0 - left;
  return static_cast<std::uintptr_t>(static_cast<std::intptr_t>(left) / divisor);
}

/// Computes a binary operation modulo 2^64. Returns nullopt if the result is undefined, or
/// `operation` is not binary.
inline std::optional<std::uintptr_t> compute(DwarfOperation operation, std::uintptr_t left,
                                             std::uintptr_t right) noexcept {
  constexpr std::uintptr_t kBits = 8 * sizeof(std::uintptr_t);
  switch (operation) {
    case DwarfOperation::kAnd:
      return left & right;
    case DwarfOperation::kOr:
      return left | right;
    case DwarfOperation::kXor:
      return left ^ right;
    case DwarfOperation::kPlus:
      return left + right;
    case DwarfOperation::kMinus:
      return left - right;
    case DwarfOperation::kMultiply:
      return left * right;
    case DwarfOperation::kDivide:
      return divide(left, right);
    case DwarfOperation::kModulo:
      return right == 0 ? std::nullopt : std::optional(left % right);
    case DwarfOperation::kShiftLeft:
      return right < kBits ? left << right : 0;
    case DwarfOperation::kShiftRight:
      return right < kBits ? left >> right : 0;
    case DwarfOperation::kShiftRightArithmetic:
      return static_cast<std::uintptr_t>(static_cast<std::intptr_t>(left) >>
                                         std::min(right, kBits - 1));
    default:
      return compare(operation, left, right);
  }
}

/// An evaluator of one expression, used once. Such expressions describe signal frames in glibc, and
/// PLTs. Stops after `kMaxSteps` operations, so that loops end. A branch out of the expression is
/// an error. Runs inside malloc if `read_word` does.
class DwarfExpression {
 public:
  static constexpr std::size_t kMaxSteps = 1024;

  /// Keeps references to all arguments.
  DwarfExpression(std::span<const std::byte> bytes, const RegisterFile& registers,
                  WordReaderRef read_word) noexcept
      : bytes_(bytes), reader_(bytes), registers_(registers), read_word_(read_word) {}

  /// Executes the expression and returns the top of the stack. Pushes `initial` first, if given,
  /// because expressions that compute a register start with the CFA on the stack. Returns nullopt
  /// if the expression is malformed or has an operation not allowed in call frame rules. Also
  /// returns nullopt if the expression needs an unknown register or an unreadable word.
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
