#include <doctest/doctest.h>

#include <vector>

#include "alloctap/check/quarantine_list.hpp"

using alloctap::FreedBlocks;

TEST_CASE("the oldest comes out first, round and round") {
  static constinit FreedBlocks freed;
  for (FreedBlocks::Number number = 1; number <= 3; ++number) REQUIRE(freed.push(number, 4));
  for (FreedBlocks::Number number = 4; number < 100; ++number) {
    REQUIRE(freed.push(number, 4));
    CHECK(freed.full());
    CHECK(freed.pop() == number - 3);
  }
  std::vector<FreedBlocks::Number> left;
  freed.for_each([&](FreedBlocks::Number number) { left.push_back(number); });
  CHECK(left == std::vector<FreedBlocks::Number>{97, 98, 99});
}

TEST_CASE("a full queue takes no more, and one of no places none") {
  static constinit FreedBlocks freed;
  REQUIRE(freed.push(1, 2));
  REQUIRE(freed.push(2, 2));
  CHECK_FALSE(freed.push(3, 2));
  CHECK(freed.size() == 2);
  static constinit FreedBlocks none;
  CHECK_FALSE(none.push(1, 0));
  CHECK_FALSE(none.full());
}

TEST_CASE("some are taken out of the middle, also where the places go round") {
  static constinit FreedBlocks freed;
  REQUIRE(freed.push(1, 4));
  REQUIRE(freed.push(2, 4));
  CHECK(freed.pop() == 1);
  for (const FreedBlocks::Number number : {3U, 4U, 5U}) REQUIRE(freed.push(number, 4));
  freed.remove_if([](FreedBlocks::Number number) { return number % 2 == 0; });
  CHECK(freed.size() == 2);
  CHECK(freed.pop() == 3);
  REQUIRE(freed.push(6, 4));
  CHECK(freed.pop() == 5);
  CHECK(freed.pop() == 6);
}
