/// The operand stack and the arithmetic of DWARF expressions (DWARF 5, 2.5.1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/elf/dwarf_operation.hpp"

namespace alloctap::elf {

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

}  // namespace alloctap::elf
