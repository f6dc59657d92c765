#include <doctest/doctest.h>

#include "alloctap/record/peak_tracker.hpp"

namespace {

using alloctap::TimeBudget;

constexpr std::int64_t kStart = 1'000'000'000'000;

}  // namespace

TEST_CASE("a little may be spent at once, and no more") {
  TimeBudget budget;
  CHECK(budget.has_left(kStart));
  budget.spend(TimeBudget::kAtOnce - 1);
  CHECK(budget.has_left(kStart));
  budget.spend(1);
  CHECK_FALSE(budget.has_left(kStart));
}

TEST_CASE("time that passes grants a share of itself, from the first question on") {
  TimeBudget budget;
  CHECK(budget.has_left(kStart));
  budget.spend(TimeBudget::kAtOnce + 1'000);
  CHECK_FALSE(budget.has_left(kStart + 1'000 * TimeBudget::kShareOfTime));
  CHECK(budget.has_left(kStart + 1'001 * TimeBudget::kShareOfTime));
}

TEST_CASE("the processor's time counts, at most what has passed, and all of that in vain") {
  constexpr std::int64_t kStep = 15'600'000;
  CHECK(TimeBudget::cost(300, 5'000, false) == 300);
  CHECK(TimeBudget::cost(kStep, 5'000, false) == 5'000);
  CHECK(TimeBudget::cost(0, 5'000, false) == 0);
  CHECK(TimeBudget::cost(300, 5'000, true) == 5'000);
}
