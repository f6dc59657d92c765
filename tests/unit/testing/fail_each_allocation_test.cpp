#include "alloctap/testing/fail_each_allocation.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "alloctap/fail/injected_failures.hpp"

namespace {

using namespace alloctap;

/// An operator new as a hook would have it.
void allocate_something(std::size_t size = 8) {
  if (!InjectedFailures::may_refuse()) return;
  const bool refused = InjectedFailures::refuses({.size = size, .origin = {}}, {});
  InjectedFailures::end_asked();
  if (refused) throw std::bad_alloc();
}

}  // namespace

TEST_CASE("fail_each_allocation: each allocation of a body fails once, and then none") {
  int runs = 0;
  int finished = 0;
  std::vector<std::uint64_t> failed;
  const FailureWalk walk = fail_each_allocation(
      [&] {
        ++runs;
        for (int i = 0; i < 3; ++i) allocate_something();
        ++finished;
      },
      [&](std::uint64_t number) {
        CHECK_FALSE(InjectedFailures::may_refuse());
        failed.push_back(number);
      });
  CHECK(walk.complete);
  CHECK(walk.points == 3);
  CHECK(walk.bad_allocs == 3);
  CHECK(walk.allocations == 3);
  CHECK(runs == 4);
  CHECK(finished == 1);
  CHECK(failed == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("fail_each_allocation: a body that goes on after a failure is walked on") {
  const FailureWalk walk = fail_each_allocation([] {
    for (int i = 0; i < 2; ++i) {
      try {
        allocate_something();
      } catch (const std::bad_alloc&) {
        allocate_something();
      }
    }
  });
  CHECK(walk.complete);
  CHECK(walk.points == 2);
  CHECK(walk.bad_allocs == 0);
}

TEST_CASE("fail_each_allocation: only what the rule names; a body without any runs once") {
  const FailureWalkOptions large{.rule = {.one_in = 1'000, .most_failures = 0, .min_size = 100}};
  const auto body = [] {
    allocate_something(1);
    allocate_something(100);
  };
  CHECK(fail_each_allocation(body, large).points == 1);
  const FailureWalk nothing = fail_each_allocation([] {});
  CHECK(nothing.complete);
  CHECK(nothing.points == 0);
}

TEST_CASE("fail_each_allocation: a body that needs more each time ends by the bound") {
  int before = 0;
  const auto growing = [&] {
    ++before;
    for (int i = 0; i < before; ++i) allocate_something();
  };
  const FailureWalk walk = fail_each_allocation(growing, {.most_runs = 10});
  CHECK_FALSE(walk.complete);
  CHECK(walk.points == 10);
  CHECK(before == 10);
}

TEST_CASE("fail_each_allocation: other exceptions pass, and memory that is really gone is told") {
  CHECK_THROWS_AS(fail_each_allocation([] { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK_FALSE(InjectedFailures::may_refuse());
  const FailureWalk walk = fail_each_allocation([] { throw std::bad_alloc(); });
  CHECK_FALSE(walk.complete);
  CHECK(walk.points == 0);
  CHECK(walk.bad_allocs == 0);
}
