#include "alloctap/symbol/symbols.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/exhausted_arena.hpp"

using alloctap::Symbols;

TEST_CASE("a place has the frames that were added for it, in their order") {
  Symbols symbols;
  REQUIRE(symbols.expect(3));
  symbols.add(2, {.function = "inner", .file = "a.hpp", .line = 3});
  symbols.add(2, {.function = "outer", .file = "a.cpp", .line = 9});
  symbols.add(0, {.function = "other", .file = "a.cpp", .line = 0});
  CHECK(symbols.of(1).empty());
  REQUIRE(symbols.of(2).size() == 2);
  CHECK(symbols.of(2)[0].function == "inner");
  CHECK(symbols.of(2)[0].file == "a.hpp");
  CHECK(symbols.of(2)[0].line == 3);
  CHECK(symbols.of(2)[1].function == "outer");
  REQUIRE(symbols.of(0).size() == 1);
  CHECK(symbols.of(0)[0].function == "other");
}

TEST_CASE("texts are copied, equal ones once, and long ones are cut") {
  Symbols symbols;
  REQUIRE(symbols.expect(2));
  {
    std::string name = "gone soon";
    symbols.add(0, {.function = name, .file = name});
    symbols.add(1, {.function = std::string(5000, 'x')});
    name = "overwritten";
  }
  CHECK(symbols.of(0)[0].function == "gone soon");
  CHECK(symbols.of(0)[0].function.data() == symbols.of(0)[0].file.data());
  CHECK(symbols.of(1)[0].function == std::string(Symbols::kLongestText - 3, 'x') + "...");
}

TEST_CASE("a text that is cut ends behind a whole character") {
  Symbols symbols;
  REQUIRE(symbols.expect(2));
  std::string name(Symbols::kLongestText - 4, 'x');
  symbols.add(0, {.function = name + "\u20AC and more"});
  CHECK(symbols.of(0)[0].function == name + "...");
  name += "four";
  symbols.add(1, {.function = name});
  CHECK(symbols.of(1)[0].function == name);
}

TEST_CASE("places that are not expected have no frames") {
  Symbols symbols;
  symbols.add(0, {.function = "nobody asked"});
  CHECK(symbols.of(0).empty());
  CHECK(symbols.size() == 0);
}

TEST_CASE("without memory answers are missing, and nothing breaks") {
  Symbols symbols;
  REQUIRE(symbols.expect(100'000));
  {
    const alloctap::testing::StarvedArena starved;
    for (std::size_t i = 0; i < 100'000; ++i) {
      symbols.add(i, {.function = "name " + std::to_string(i)});
    }
  }
  CHECK(symbols.of(99'999).empty());
}
