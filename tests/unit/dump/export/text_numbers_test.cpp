#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "alloctap/dump/export/function_numbers.hpp"
#include "tests/support/exhausted_arena.hpp"

using alloctap::TextNumbers;

TEST_CASE("equal texts have one number, in the order in which they came") {
  TextNumbers numbers;
  const std::string again = "one";
  CHECK(numbers.number_of("one") == 0);
  CHECK(numbers.number_of("") == 1);
  CHECK(numbers.number_of(again) == 0);
  CHECK(numbers.number_of("two") == 2);
  REQUIRE(numbers.texts().size() == 3);
  CHECK(numbers.texts()[2] == "two");
}

TEST_CASE("many texts keep their numbers") {
  std::vector<std::string> texts;
  for (int i = 0; i < 10'000; ++i) texts.push_back("text " + std::to_string(i));
  TextNumbers numbers;
  for (std::uint32_t i = 0; i < texts.size(); ++i) REQUIRE(numbers.number_of(texts[i]) == i);
  for (std::uint32_t i = 0; i < texts.size(); ++i) REQUIRE(numbers.number_of(texts[i]) == i);
  CHECK(numbers.texts().size() == texts.size());
}

TEST_CASE("a text has no number where there is no memory") {
  std::vector<std::string> texts;
  for (int i = 0; i < 100'000; ++i) texts.push_back("text " + std::to_string(i));
  TextNumbers numbers;
  const alloctap::testing::StarvedArena starved;
  std::uint32_t number = 0;
  for (const std::string& text : texts) number = numbers.number_of(text);
  CHECK(number == TextNumbers::kNone);
}
