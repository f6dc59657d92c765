/// The stack that DWARF expressions compute on (DWARF 5, 2.5.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "alloctap/elf/dwarf_operation.hpp"

namespace alloctap::elf {

/// Words of addresses, last in, first out. What does not fit, or is not there, makes it fail for
/// good. Runs anywhere.
class DwarfStack {
 public:
  /// GCC and glibc need four.
  static constexpr std::size_t kMostWords = 32;

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  void fail() noexcept { ok_ = false; }

  void push(std::uintptr_t word) noexcept {
    if (count_ == kMostWords) return fail();
    words_[count_++] = word;
  }

  /// Fails without a word.
  void push(std::optional<std::uintptr_t> word) noexcept { word ? push(*word) : fail(); }

  [[nodiscard]] std::uintptr_t pop() noexcept {
    if (count_ != 0) return words_[--count_];
    fail();
    return 0;
  }

  /// Pushes a copy of the word that has `depth` words above it.
  void pick(std::size_t depth) noexcept {
    depth < count_ ? push(words_[count_ - 1 - depth]) : fail();
  }

  /// The top word goes below the second.
  void swap() noexcept {
    const std::uintptr_t top = pop();
    const std::uintptr_t second = pop();
    push(top);
    push(second);
  }

  /// The top word goes below the third.
  void rotate() noexcept {
    const std::uintptr_t top = pop();
    const std::uintptr_t second = pop();
    const std::uintptr_t third = pop();
    push(top);
    push(third);
    push(second);
  }

 private:
  std::array<std::uintptr_t, kMostWords> words_;
  std::size_t count_ = 0;
  bool ok_ = true;
};

/// Left operand first. Wraps as addresses do. Nothing for what has no result: division by zero, and
/// operations that are none of these. (What overflows in a division is the left operand, wrapped.)
inline std::optional<std::uintptr_t> compute(DwarfOperation operation, std::uintptr_t left,
                                             std::uintptr_t right) noexcept {
  constexpr unsigned kBits = 8 * sizeof(std::uintptr_t);
  const auto signed_left = static_cast<std::intptr_t>(left);
  const auto signed_right = static_cast<std::intptr_t>(right);
  switch (operation) {
    case DwarfOperation::kAnd:
      return left & right;
    case DwarfOperation::kDivide:
      if (right == 0) return std::nullopt;
      return signed_right == -1 ? 0 - left
                                : static_cast<std::uintptr_t>(signed_left / signed_right);
    case DwarfOperation::kMinus:
      return left - right;
    case DwarfOperation::kModulo:
      return right == 0 ? std::nullopt : std::optional(left % right);
    case DwarfOperation::kMultiply:
      return left * right;
    case DwarfOperation::kOr:
      return left | right;
    case DwarfOperation::kPlus:
      return left + right;
    case DwarfOperation::kShiftLeft:
      return right < kBits ? left << right : 0;
    case DwarfOperation::kShiftRight:
      return right < kBits ? left >> right : 0;
    case DwarfOperation::kShiftRightArithmetic:
      return static_cast<std::uintptr_t>(signed_left >> (right < kBits ? right : kBits - 1));
    case DwarfOperation::kXor:
      return left ^ right;
    case DwarfOperation::kEqual:
      return left == right;
    case DwarfOperation::kGreaterOrEqual:
      return signed_left >= signed_right;
    case DwarfOperation::kGreater:
      return signed_left > signed_right;
    case DwarfOperation::kLessOrEqual:
      return signed_left <= signed_right;
    case DwarfOperation::kLess:
      return signed_left < signed_right;
    case DwarfOperation::kNotEqual:
      return left != right;
    default:
      return std::nullopt;
  }
}

}  // namespace alloctap::elf
