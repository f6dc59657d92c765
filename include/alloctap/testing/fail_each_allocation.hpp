/// Every allocation of a function, failed once.
#pragma once

#include <concepts>
#include <cstdint>
#include <new>
#include <utility>

#include "alloctap/fail/failing_allocations.hpp"

namespace alloctap {

/// What `fail_each_allocation` did.
struct FailureWalk {
  /// How many allocations were made to fail: one in each run but the last.
  std::uint64_t points = 0;
  /// In how many of these runs std::bad_alloc came out of the body.
  std::uint64_t bad_allocs = 0;
  /// How many allocations the last run made, which got through; 0 where none did.
  std::uint64_t allocations = 0;
  /// Whether a run got through without a failure; false where `most_runs` ended the walk, where
  /// there is no memory in earnest, or where failures cannot be had (`FailingAllocations::active`).
  bool complete = false;
};

/// How to walk.
struct FailureWalkOptions {
  /// Which allocations are walked; its second group is the walk's own and is not looked at.
  FailureRule rule{};
  /// For a body that makes more allocations each time it is called.
  std::uint64_t most_runs = 100'000;
};

/// Calls `body` again and again: first its first allocation fails, then its second, until it makes
/// none that is left to fail. After each of the runs that had a failure `after_failure` is called
/// with the number of the allocation, from 1 on, and with nothing failing any more: the place to
/// check that all is as it was, or that nothing leaked.
///
/// std::bad_alloc that comes out of the body is what is to be expected, and ends a run; any other
/// exception ends the walk and passes on. The tracker needs `Failures = InjectedFailures`; without
/// such a tracker nothing fails and the first run is the last.
///
///     const alloctap::FailureWalk walk = alloctap::fail_each_allocation([&] { parse(text); });
///     CHECK(walk.complete);
template <std::invocable Body, std::invocable<std::uint64_t> AfterFailure>
FailureWalk fail_each_allocation(Body&& body, AfterFailure&& after_failure,
                                 const FailureWalkOptions& options = {}) {
  FailureWalk walk;
  FailureRule rule = options.rule;
  rule.every = 0;
  rule.one_in = 0;
  rule.most_failures = 1;
  for (rule.nth = 1; rule.nth <= options.most_runs; ++rule.nth) {
    std::uint64_t failures = 0;
    bool threw = false;
    {
      const FailingAllocations failing(rule);
      if (!failing.active()) return walk;
      try {
        body();
      } catch (const std::bad_alloc&) {
        threw = true;
      }
      failures = failing.failures();
      walk.allocations = failing.allocations();
    }
    if (failures == 0) {
      walk.complete = !threw;
      return walk;
    }
    if (threw) ++walk.bad_allocs;
    walk.points += failures;
    after_failure(rule.nth);
  }
  walk.allocations = 0;
  return walk;
}

template <std::invocable Body>
FailureWalk fail_each_allocation(Body&& body, const FailureWalkOptions& options = {}) {
  return fail_each_allocation(std::forward<Body>(body), [](std::uint64_t) {}, options);
}

}  // namespace alloctap
