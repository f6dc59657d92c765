#include "alloctap/testing/measured_callable.hpp"

#include <doctest/doctest.h>

#include <string>

#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/testing/allocation_baseline.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct MeasuredConfig : DefaultConfig {
  using Hook = ManualHook<struct MeasuredBodyTest>;
  using Observers = AllocationScopes;
};
using MeasuredTracker = Tracker<MeasuredConfig>;

char measured_block;

ALLOCTAP_NOINLINE void allocate_inside(volatile int& calls) {
  MeasuredTracker::Hook::on_allocate(&measured_block, 100);
  MeasuredTracker::Hook::on_free(&measured_block);
  calls = calls + 1;
}

/// Measures, below `depth` more frames.
ALLOCTAP_NOINLINE bool measure_below(int depth, const BaselineOptions& options) {
  if (depth > 0) {
    volatile bool passed = measure_below(depth - 1, options);
    return passed;
  }
  volatile int calls = 0;
  const BaselineResult result =
      allocation_baseline<MeasuredTracker>("inside", [&] { allocate_inside(calls); }, options);
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
  const std::string path = directory.file("");
  BaselineOptions options{.directory = path, .update = BaselineUpdate::kAlways};
  CHECK(measure_below(0, options));
  options.update = BaselineUpdate::kNever;
  CHECK(measure_below(0, options));
  CHECK(measure_below(5, options));
  const auto baseline = BaselineFile::find("inside", path)->read();
  REQUIRE(baseline.ok());
  REQUIRE(baseline->stacks.size() == 1);
  const auto& [stack, count] = *baseline->stacks.begin();
  CHECK(count == BaselineCount{.allocations = 1, .bytes = 100});
  // The function that allocates, and the measured one, which may be in one frame.
  CHECK(stack.size() >= 1);
  CHECK(stack.size() <= 2);
}

TEST_CASE("a baseline fails where nothing counts") {
  const BaselineResult result = allocation_baseline<MeasuredTracker>("nothing", [] {});
  CHECK_FALSE(result);
  CHECK(result.message().find("nothing counts: no tracker") != std::string::npos);
}
