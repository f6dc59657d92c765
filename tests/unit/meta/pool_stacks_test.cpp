#include <doctest/doctest.h>

#include <cstdint>
#include <map>

#include "alloctap/meta/pool_books.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::PoolStacks;
using alloctap::PoolSums;
using alloctap::StackId;
using alloctap::testing::StarvedArena;

}  // namespace

TEST_CASE("each stack keeps its sums while the table grows") {
  PoolStacks stacks;
  CHECK(stacks.find(5) == nullptr);
  for (StackId stack = 1; stack <= 1000; ++stack) stacks.find_or_add(stack * 7)->add(stack);
  for (StackId stack = 1; stack <= 1000; stack += 2) stacks.find_or_add(stack * 7)->add(1);
  for (StackId stack = 1; stack <= 1000; stack += 4) stacks.find(stack * 7)->remove(1);
  CHECK(stacks.find(8) == nullptr);
  std::map<StackId, PoolSums> seen;
  stacks.for_each([&](StackId stack, const PoolSums& sums) { seen[stack] = sums; });
  CHECK(stacks.size() == 1000);
  REQUIRE(seen.size() == 1000);
  CHECK(seen[7 * 4].allocations == 1);
  CHECK(seen[7 * 4].live_bytes == 4);
  CHECK(seen[7 * 3].allocations == 2);
  CHECK(seen[7 * 3].live_bytes == 4);
  CHECK(seen[7 * 5].allocated_bytes == 6);
  CHECK(seen[7 * 5].live_allocations == 1);
  CHECK(seen[7 * 5].live_bytes == 5);
}

TEST_CASE("all blocks may end at once, and what was allocated stays") {
  PoolStacks stacks;
  stacks.find_or_add(3)->add(10);
  stacks.find_or_add(4)->add(20);
  stacks.end_all();
  CHECK(stacks.find(3)->live_bytes == 0);
  CHECK(stacks.find(4)->live_allocations == 0);
  CHECK(stacks.find(4)->allocated_bytes == 20);
}

TEST_CASE("without memory there are no new stacks, and the old ones stay") {
  PoolStacks stacks;
  for (StackId stack = 1; stack <= 3; ++stack) stacks.find_or_add(stack)->add(stack);
  const StarvedArena starved;
  CHECK(stacks.find_or_add(4) == nullptr);
  CHECK(stacks.find_or_add(3)->live_bytes == 3);
}
