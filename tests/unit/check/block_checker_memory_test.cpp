#include <doctest/doctest.h>

#include <cstddef>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/check/checks.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/unit/check/checked_heap.hpp"

using namespace alloctap;

TEST_CASE("a block without memory for its record is no stranger when it is freed") {
  static constinit BlockChecker<Checks<PointerVerification>> checker;
  alloctap::testing::CheckedHeap heap(checker);
  std::byte* block = nullptr;
  {
    const alloctap::testing::StarvedArena starved;
    block = heap.allocate(24);
  }
  CHECK(heap.free(block) == ReleasePlan::Action::kPassOn);
  CHECK(heap.kinds().empty());
}
