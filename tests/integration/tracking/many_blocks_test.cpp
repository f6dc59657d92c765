// Millions of live blocks are no trouble.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kBlocks = 20'000'000;
constexpr std::uint64_t kBlockBytes = 16;
/// What the C library takes for one.
constexpr std::uint64_t kChunkBytes = 32;

}  // namespace

TEST_CASE("twenty million live blocks are reported whole, in less time than they took to make") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "many_blocks", std::to_string(kBlocks)});
  const Clock::time_point start = Clock::now();
  const Outcome outcome = run(program.tracked());
  const auto all = Clock::now() - start;
  REQUIRE(outcome.exit_code() == 0);
  const std::chrono::milliseconds run_time(std::stol(outcome.out));
  MESSAGE("run ", run_time.count(), " ms, start and dump ",
          (all - run_time) / std::chrono::milliseconds(1), " ms");
  CHECK(all - run_time < run_time);

  const Dump dump = program.dump();
  check_report(dump);
  CHECK(dump.account("dropped") == 0);
  CHECK(dump.total("live_allocations") >= kBlocks);
  CHECK(dump.total("live_allocations") < kBlocks + 1000);
  CHECK(dump.total("live_bytes") >= kBlocks * kBlockBytes);
  // A word of 4 bytes for each 32 of glibc's heap, and what the tracker takes for itself.
  CHECK(dump.account("tracker_bytes") < kBlocks * kChunkBytes / 8 + (16 << 20));
}
