#include <doctest/doctest.h>

#include <cstdint>

#include "alloctap/check/guarded_blocks.hpp"

namespace {

using alloctap::GuardBudget;

constexpr std::int64_t kSecond = 1'000'000'000;

int taken_at(GuardBudget& budget, std::uint32_t one_in, std::int64_t now_ns, int asked) {
  int taken = 0;
  for (int i = 0; i < asked; ++i) taken += budget.take(one_in, now_ns) ? 1 : 0;
  return taken;
}

}  // namespace

TEST_CASE("of all blocks each may have its guard page") {
  GuardBudget budget;
  CHECK(taken_at(budget, 1, 0, 100000) == 100000);
  CHECK(budget.refused() == 0);
}

TEST_CASE("of a sample a quarter of a second's may come at once, then as many as are due") {
  GuardBudget budget;
  const std::int64_t start = 5 * kSecond;
  CHECK(taken_at(budget, 1000, start, 100000) == 126);
  CHECK(budget.refused() == 100000 - 126);
  CHECK(taken_at(budget, 1000, start + kSecond / 500, 100) == 1);
  CHECK(taken_at(budget, 1000, start + kSecond / 100, 100) == 4);
  CHECK(taken_at(budget, 1000, start + 60 * kSecond, 100000) == 126);
}

TEST_CASE("a clock may start anywhere, and a rare sample has a few at once") {
  for (const std::int64_t start : {std::int64_t{-1}, std::int64_t{0}, INT64_MAX / 2}) {
    GuardBudget budget;
    CHECK(taken_at(budget, 1'000'000, start, 1000) == 65);
    CHECK(taken_at(budget, 1'000'000, start + 2 * kSecond, 1000) == 1);
  }
}

TEST_CASE("who allocates half a million times a second has all of its sample") {
  GuardBudget budget;
  for (int i = 0; i < 10000; ++i) CHECK(budget.take(100, i * std::int64_t{200'000}));
}
