#include <doctest/doctest.h>

#include "alloctap/testing/counted_stack.hpp"

using alloctap::testing::count_text;

TEST_CASE("one of anything is said in the singular") {
  CHECK(count_text(0, "block") == "0 blocks");
  CHECK(count_text(1, "block") == "1 block");
  CHECK(count_text(12345, "more stack") == "12345 more stacks");
}
