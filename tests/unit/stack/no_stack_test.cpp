#include <doctest/doctest.h>

#include "alloctap/stack/stack_capture.hpp"
#include "tests/support/call_chain.hpp"

using alloctap::NoStack;
using alloctap::testing::capture_known_stack;
using alloctap::testing::kUntouched;
using alloctap::testing::SeenStack;

TEST_CASE("no stack is the caller alone, and that is complete") {
  const SeenStack seen = capture_known_stack<NoStack>(3, 8);
  CHECK(seen.result.depth == 1);
  CHECK(seen.frames[0] == seen.expected[0]);
  CHECK(seen.frames[1] == kUntouched);
  CHECK_FALSE(seen.result.truncated);
  CHECK_FALSE(seen.result.failed);
}
