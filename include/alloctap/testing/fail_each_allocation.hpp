/// Exhaustive fault injection: runs a function repeatedly; in each run another allocation fails.
#pragma once

#include <concepts>
#include <cstdint>
#include <new>
#include <utility>

#include "alloctap/fail/injected_failures.hpp"

namespace alloctap {

/// The result of `fail_each_allocation`.
struct FailureWalk {
  /// Number of injected failures: one in each run, except in a last run without failure.
  std::uint64_t points = 0;
  /// Number of runs that ended by std::bad_alloc.
  std::uint64_t bad_allocs = 0;
  /// Number of allocations in the run without an injected failure; 0 if there was no such run.
  std::uint64_t allocations = 0;
  /// True if a run ended without any failure. False if `most_runs` was reached, if the system ran
  /// out of memory, or if fault injection is unavailable (`FailingAllocations::active`).
  bool complete = false;
};

struct FailureWalkOptions {
  /// Selects the allocations that fail in turn. `nth`, `every`, `one_in` and `most_failures` are
  /// ignored.
  FailureRule rule{};
  /// Maximum number of runs, for bodies that allocate more in each run and would never end.
  std::uint64_t most_runs = 100'000;
};

/// Calls `body` repeatedly. In run n the n-th allocation fails; the first run without a failure is
/// the last. After each run with a failure, calls `after_failure(n)` without injected failures.
/// `after_failure` can check for leaks and for an unchanged state.
///
/// A run may end by std::bad_alloc. This function passes any other exception on at once. Requires a
/// tracker with `Failures = InjectedFailures` and an installed hook; without one, nothing fails and
/// the first run is the last.
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
