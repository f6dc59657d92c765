#include <doctest/doctest.h>

#include <memory>
#include <thread>

#include "alloctap/sample/sampled_blocks.hpp"
#include "tests/support/exhausted_arena.hpp"

using alloctap::StackEstimates;

TEST_CASE("the weights of a stack's samples add up, and those of others stay apart") {
  const auto estimates = std::make_unique<StackEstimates>();
  CHECK(estimates->add(3, 1.5, 1000));
  CHECK(estimates->add(3, 2.25, 10));
  CHECK(estimates->add(20'000, 7, 1));
  estimates->add_temporary(3, 2.25);
  estimates->add_temporary(1'000'000, 1);
  const alloctap::StackEstimate three = estimates->of(3);
  CHECK(three.allocations == 3.75);
  CHECK(three.allocated_bytes == 1522.5);
  CHECK(three.temporary_allocations == 2.25);
  CHECK(estimates->of(20'000).allocated_bytes == 7);
  CHECK(estimates->of(4).allocations == 0);
  CHECK(estimates->of(1'000'000).temporary_allocations == 0);
}

TEST_CASE("threads may add to one stack at the same time") {
  const auto estimates = std::make_unique<StackEstimates>();
  const auto add = [&] {
    for (int i = 0; i < 50'000; ++i) static_cast<void>(estimates->add(5, 1.5, 2));
  };
  std::thread other(add);
  add();
  other.join();
  CHECK(estimates->of(5).allocations == 150'000);
  CHECK(estimates->of(5).allocated_bytes == 300'000);
}

TEST_CASE("a stack for which there is no memory is told") {
  const auto estimates = std::make_unique<StackEstimates>();
  constexpr alloctap::StackId kFarApart = 10'000;
  bool added[8];
  {
    // The system still gives a few pages: not every one of these sums finds room.
    const alloctap::testing::StarvedArena starved;
    for (alloctap::StackId i = 0; i < 8; ++i) added[i] = estimates->add(i * kFarApart, 1, 1);
  }
  CHECK_FALSE(added[7]);
  for (alloctap::StackId i = 0; i < 8; ++i) {
    CHECK(estimates->of(i * kFarApart).allocations == (added[i] ? 1 : 0));
  }
}
