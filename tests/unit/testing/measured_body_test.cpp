#include "alloctap/testing/measured_body.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"
#include "alloctap/testing/allocation_baseline.hpp"
#include "alloctap/tracker.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct MeasuredConfig : DefaultConfig {
  using Hook = ManualHook<struct MeasuredBodyTest>;
};
using MeasuredTracker = Tracker<MeasuredConfig>;

char block;

ALLOCTAP_NOINLINE void allocate_inside(volatile int& calls) {
  MeasuredTracker::Hook::on_allocate(&block, 100);
  MeasuredTracker::Hook::on_free(&block);
  calls = calls + 1;
}

/// What each stack allocated while `work` ran, of all threads.
absl::StatusOr<std::vector<CountedStack>> count_by_snapshots(auto& work) {
  const auto grown = MeasuredTracker::growth_over(work);
  if (!grown.ok()) return grown.status();
  std::vector<CountedStack> counts;
  for (const auto& [stack, change] : grown->stacks) {
    counts.push_back({.stack = stack,
                      .allocations = static_cast<std::uint64_t>(change.allocations),
                      .bytes = static_cast<std::uint64_t>(change.allocated_bytes)});
  }
  return counts;
}

/// Measures, below `depth` more frames.
ALLOCTAP_NOINLINE bool measure(int depth, const BaselineOptions& options) {
  if (depth > 0) {
    volatile bool passed = measure(depth - 1, options);
    return passed;
  }
  volatile int calls = 0;
  const BaselineResult result = allocation_baseline<MeasuredTracker>(
      "inside", [&] { allocate_inside(calls); }, options,
      [](auto& work) { return count_by_snapshots(work); });
  INFO(result.message());
  CHECK(calls == 1);
  CHECK(static_cast<bool>(result));
  return static_cast<bool>(result);
}

}  // namespace

TEST_CASE("a baseline is the same wherever the measured function is called from") {
  const TemporaryDirectory directory;
  const auto session = MeasuredTracker::start();
  REQUIRE(session.ok());
  BaselineOptions options{.directory = directory.file(""), .update = BaselineUpdate::kAlways};
  const std::string path = directory.file("");
  options.directory = path;
  CHECK(measure(0, options));
  options.update = BaselineUpdate::kNever;
  CHECK(measure(0, options));
  CHECK(measure(5, options));
  const auto baseline = BaselineFile::find("inside", path)->read();
  REQUIRE(baseline.ok());
  REQUIRE(baseline->stacks.size() == 1);
  const auto& [stack, count] = *baseline->stacks.begin();
  CHECK(count == AllocationCount{.allocations = 1, .bytes = 100});
  // The function that allocates, and the measured one, which may be in one frame.
  CHECK(stack.size() >= 1);
  CHECK(stack.size() <= 2);
}
