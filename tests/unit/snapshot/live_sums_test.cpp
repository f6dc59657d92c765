#include <doctest/doctest.h>

#include "alloctap/snapshot/take_snapshot.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::LiveSums;
using alloctap::testing::StarvedArena;

}  // namespace

TEST_CASE("blocks are summed up by stack and by size") {
  LiveSums sums;
  REQUIRE(sums.expect_stacks(4));
  sums.add({.stack = 1, .size = 5});
  sums.add({.stack = 3, .size = 7});
  sums.add({.stack = 3, .size = 0});
  CHECK(sums.of(1).whole_blocks() == 1);
  CHECK(sums.of(1).whole_bytes() == 5);
  CHECK(sums.of(2).whole_blocks() == 0);
  CHECK(sums.of(3).whole_blocks() == 2);
  CHECK(sums.of(3).whole_bytes() == 7);
  CHECK(sums.sizes()[0].live_allocations == 1);
  CHECK(sums.sizes()[3].live_allocations == 2);
  CHECK(sums.sizes()[3].live_bytes == 12);
  CHECK(sums.samples() == 3);
  CHECK(sums.live_bytes() == 12);
  CHECK(sums.margin() == 0);
}

TEST_CASE("samples stand for as many blocks as they weigh, with a margin") {
  LiveSums sums;
  REQUIRE(sums.expect_stacks(2));
  sums.add_sample({.stack = 1, .size = 100}, 2.5);
  sums.add_sample({.stack = 1, .size = 10}, 1);
  CHECK(sums.samples() == 2);
  CHECK(sums.of(1).blocks == 3.5);
  CHECK(sums.of(1).whole_blocks() == 4);
  CHECK(sums.of(1).whole_bytes() == 260);
  CHECK(sums.live_bytes() == 260);
  // 1.96 times the root of 100^2 * 2.5 * 1.5.
  CHECK(sums.margin() == 380);
}

TEST_CASE("more stacks may be expected later, and keep what they have") {
  LiveSums sums;
  REQUIRE(sums.expect_stacks(2));
  sums.add({.stack = 1, .size = 5});
  REQUIRE(sums.expect_stacks(100'000));
  CHECK(sums.of(1).whole_bytes() == 5);
  CHECK(sums.of(99'999).whole_blocks() == 0);
  const StarvedArena starved;
  CHECK_FALSE(sums.expect_stacks(100'000'000));
}
