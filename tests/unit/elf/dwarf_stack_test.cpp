#include <doctest/doctest.h>

#include "alloctap/elf/dwarf_expression.hpp"

using alloctap::elf::compute;
using alloctap::elf::DwarfStack;
using Operation = alloctap::elf::DwarfOperation;

namespace {

constexpr auto kMinusOne = static_cast<std::uintptr_t>(-1);
constexpr auto kSmallest = static_cast<std::uintptr_t>(INTPTR_MIN);

}  // namespace

TEST_CASE("a stack gives back the last word first, and fails when it is empty or full") {
  DwarfStack stack;
  for (std::uintptr_t word = 0; word < DwarfStack::kMaxWords; ++word) stack.push(word);
  CHECK(stack.ok());
  CHECK(stack.pop() == DwarfStack::kMaxWords - 1);
  stack.push(7);
  CHECK(stack.ok());
  stack.push(8);
  CHECK_FALSE(stack.ok());
  DwarfStack empty;
  CHECK(empty.pop() == 0);
  CHECK_FALSE(empty.ok());
  DwarfStack nothing;
  nothing.push(std::nullopt);
  CHECK_FALSE(nothing.ok());
}

TEST_CASE("words are copied and moved as DWARF says") {
  const auto three = [] {
    DwarfStack stack;
    for (const std::uintptr_t word : {1U, 2U, 3U}) stack.push(word);
    return stack;
  };
  DwarfStack swapped = three();
  swapped.swap();
  CHECK(swapped.pop() == 2);
  CHECK(swapped.pop() == 3);
  CHECK(swapped.pop() == 1);
  DwarfStack rotated = three();
  rotated.rotate();
  CHECK(rotated.pop() == 2);
  CHECK(rotated.pop() == 1);
  CHECK(rotated.pop() == 3);
  DwarfStack picked = three();
  picked.pick(2);
  CHECK(picked.pop() == 1);
  CHECK(picked.pop() == 3);
  picked.pick(2);
  CHECK_FALSE(picked.ok());
}

TEST_CASE("moving words that are not there fails") {
  DwarfStack one;
  one.push(std::uintptr_t{1});
  DwarfStack two = one;
  two.push(std::uintptr_t{2});
  one.swap();
  CHECK_FALSE(one.ok());
  two.rotate();
  CHECK_FALSE(two.ok());
}

TEST_CASE("two words make one") {
  CHECK(compute(Operation::kPlus, kMinusOne, 2) == 1);
  CHECK(compute(Operation::kMinus, 2, 3) == kMinusOne);
  CHECK(compute(Operation::kMultiply, kMinusOne, 5) == static_cast<std::uintptr_t>(-5));
  CHECK(compute(Operation::kDivide, static_cast<std::uintptr_t>(-6), 2) ==
        static_cast<std::uintptr_t>(-3));
  CHECK(compute(Operation::kModulo, 7, 4) == 3);
  CHECK(compute(Operation::kAnd, 6, 3) == 2);
  CHECK(compute(Operation::kOr, 6, 3) == 7);
  CHECK(compute(Operation::kXor, 6, 3) == 5);
  CHECK(compute(Operation::kShiftLeft, 3, 4) == 48);
  CHECK(compute(Operation::kShiftRight, kMinusOne, 63) == 1);
  CHECK(compute(Operation::kShiftRightArithmetic, kMinusOne, 63) == kMinusOne);
}

TEST_CASE("comparisons are signed") {
  CHECK(compute(Operation::kLess, kMinusOne, 1) == 1);
  CHECK(compute(Operation::kLessOrEqual, 1, 1) == 1);
  CHECK(compute(Operation::kGreater, kMinusOne, 1) == 0);
  CHECK(compute(Operation::kGreaterOrEqual, 1, kMinusOne) == 1);
  CHECK(compute(Operation::kEqual, 4, 4) == 1);
  CHECK(compute(Operation::kNotEqual, 4, 4) == 0);
}

TEST_CASE("what has no result in C++ has one here, or none") {
  CHECK_FALSE(compute(Operation::kDivide, 1, 0).has_value());
  CHECK_FALSE(compute(Operation::kModulo, 1, 0).has_value());
  CHECK(compute(Operation::kDivide, kSmallest, kMinusOne) == kSmallest);
  CHECK(compute(Operation::kShiftLeft, 1, 64) == 0);
  CHECK(compute(Operation::kShiftRight, kMinusOne, kMinusOne) == 0);
  CHECK(compute(Operation::kShiftRightArithmetic, kMinusOne, 200) == kMinusOne);
  CHECK_FALSE(compute(Operation::kDrop, 1, 1).has_value());
}
