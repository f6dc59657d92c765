// Threads of all kinds are tracked and none is disturbed.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;

Dump report_of_threads(const std::string& name, const std::vector<std::string>& options = {}) {
  Dump dump = report_of_unchanged(TrackedProgram({ALLOCTAP_PROGRAMS "threads", name}), options);
  CHECK(dump.account("unmatched_frees") == 0);
  return dump;
}

/// The numbers of `name` without those of a run that does nothing.
HeapUsage own_usage(const std::string& name) {
  const HeapUsage nothing = report_of_threads("nothing").usage();
  HeapUsage usage = report_of_threads(name).usage();
  usage.allocations -= nothing.allocations;
  usage.deallocations -= nothing.deallocations;
  usage.allocated_bytes -= nothing.allocated_bytes;
  usage.live_bytes -= nothing.live_bytes;
  return usage;
}

}  // namespace

TEST_CASE("blocks that one thread allocates and another frees are counted exactly") {
  const HeapUsage usage = own_usage("two");
  // A thread costs a block of the C++ library's, and one of the C library's that the next one uses
  // again.
  CHECK(usage.allocations == 1000 + 1 + 3);
  CHECK(usage.deallocations == 750 + 1 + 2);
  // Every second block is left, less every fourth: 3, 7, 11 ...
  CHECK(usage.live_bytes - 250 * (3 + 999) / 2 < 1000);
}

TEST_CASE("a thread with the smallest stack can be tracked") {
  for (const std::string stack :
       {"--stack=unwind-table", "--stack=backtrace", "--stack=frame-pointer", "--stack=none"}) {
    CHECK(report_of_threads("smallest-stack", {stack}).total("allocations") >= 100);
  }
}

TEST_CASE("tracking makes malloc no point where a thread may be cancelled") {
  for (const std::string stack :
       {"--stack=unwind-table", "--stack=backtrace", "--stack=frame-pointer", "--stack=none"}) {
    CHECK(report_of_threads("cancel", {stack}).total("allocations") >= 100);
  }
}

TEST_CASE("what destructors of a thread's data free and allocate is counted") {
  const Dump dump = report_of_threads("thread-end");
  std::uint64_t at_the_end = 0;
  for (const Json& stack : dump.json().at("stacks")) {
    if (stack.at("live_bytes") == 77) ++at_the_end;
    CHECK(stack.at("live_bytes") != 78);
    CHECK(stack.at("live_bytes") != 1001);
  }
  CHECK(at_the_end == 1);
}

TEST_CASE("threads that come and go do not make the tracker grow") {
  const Dump dump = report_of_threads("come-and-go");
  CHECK(dump.total("allocations") >= 2000);
  // What 16 threads keep, of which about 0.6 MiB of address space are for each one's stacks.
  CHECK(dump.account("tracker_bytes") <
        report_of_threads("two").account("tracker_bytes") + (12 << 20));
}

TEST_CASE("a stack that the program made for itself is walked to its end") {
  const Dump dump = report_of_threads("own-stack");
  const auto stacks = dump.stacks_through("(anonymous namespace)::allocate_elsewhere");
  REQUIRE(stacks.size() >= 1);
  CHECK(stacks.front().at("allocations") == 100);
  // Nothing there says where the walk has to end.
  CHECK(dump.account("failed_unwinds") == 100);
}
