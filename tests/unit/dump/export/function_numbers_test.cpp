#include "alloctap/dump/export/function_numbers.hpp"

#include <doctest/doctest.h>

#include "tests/support/exhausted_arena.hpp"

using alloctap::FunctionNumbers;

TEST_CASE("a function is a label and a file, whatever the line") {
  FunctionNumbers numbers;
  CHECK(numbers.number_of({.label = "a", .file = "x", .line = 1}) == 0);
  CHECK(numbers.number_of({.label = "a", .file = "y"}) == 1);
  CHECK(numbers.number_of({.label = "x", .file = "a"}) == 2);
  CHECK(numbers.number_of({.label = "a"}) == 3);
  CHECK(numbers.number_of({.label = "a", .file = "x", .line = 2}) == 0);
  REQUIRE(numbers.functions().size() == 4);
  CHECK(numbers.functions()[1].label == "a");
  CHECK(numbers.functions()[1].file == "y");
  CHECK(numbers.functions()[3].file.empty());
}

TEST_CASE("where memory ends, a function has no number") {
  FunctionNumbers numbers;
  std::uint32_t number = 0;
  {
    const alloctap::testing::StarvedArena starved;
    number = numbers.number_of({.label = "a"});
  }
  CHECK(number == FunctionNumbers::kNone);
}
