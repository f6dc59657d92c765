#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <utility>

#include "alloctap/record/thread_stats.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::FreedTotals;
using alloctap::StackId;
using alloctap::testing::StarvedArena;

using Counted = std::map<StackId, std::pair<std::uint64_t, std::uint64_t>>;

Counted all(const FreedTotals& totals) {
  Counted counted;
  totals.for_each([&](StackId stack, const FreedTotals::Entry& entry) {
    CHECK(counted.try_emplace(stack, entry.blocks, entry.bytes).second);
  });
  return counted;
}

}  // namespace

TEST_CASE("frees are counted by stack, wherever its id lies") {
  const auto totals = std::make_unique<FreedTotals>();
  CHECK(all(*totals).empty());
  totals->count(1, 10);
  totals->count(70'000, 5);
  totals->count(1, 0);
  totals->count(255, 7);
  totals->count(256, 8);
  CHECK(all(*totals) == Counted{{1, {2, 10}}, {255, {1, 7}}, {256, {1, 8}}, {70'000, {1, 5}}});
}

TEST_CASE("what is put back is not counted, even where another thread had taken it") {
  const auto taker = std::make_unique<FreedTotals>();
  const auto other = std::make_unique<FreedTotals>();
  taker->count(3, 100);
  other->uncount(3, 100);
  taker->count(4, 8);
  taker->uncount(4, 8);
  CHECK(all(*taker) == Counted{{3, {1, 100}}});
  const auto [blocks, bytes] = all(*other).at(3);
  CHECK(blocks + 1 == 0);
  CHECK(bytes + 100 == 0);
}

TEST_CASE("where memory ends a free is not counted, and the totals say so") {
  const auto totals = std::make_unique<FreedTotals>();
  CHECK(totals->complete());
  {
    const StarvedArena starved;
    totals->count(1, 10);
  }
  CHECK_FALSE(totals->complete());
  CHECK(all(*totals).empty());
  totals->count(1, 10);
  CHECK_FALSE(totals->complete());
  CHECK(all(*totals) == Counted{{1, {1, 10}}});
}
