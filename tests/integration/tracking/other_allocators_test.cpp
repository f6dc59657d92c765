// Programs that use another allocator than the C library's.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;

const std::string kSystemLibraries = "/usr/lib/" ALLOCTAP_MULTIARCH "/";

/// Preloaded by the user, behind the tracker.
Dump report_with(const std::string& library, std::vector<std::string> arguments) {
  const std::string way = arguments.back();
  CAPTURE(library);
  CAPTURE(way);
  REQUIRE(std::filesystem::exists(kSystemLibraries + library));
  TrackedProgram program(std::move(arguments));
  program.command().environment.push_back("LD_PRELOAD=" + kSystemLibraries + library);
  return report_of_unchanged(program);
}

void check_allocator(const std::string& library) {
  const std::string semantics = ALLOCTAP_PROGRAMS "semantics";
  const HeapUsage base = report_with(library, {semantics, "nothing"}).usage();
  HeapUsage grown = report_with(library, {semantics, "realloc-grow"}).usage();
  grown.allocations -= base.allocations;
  grown.deallocations -= base.deallocations;
  grown.allocated_bytes -= base.allocated_bytes;
  grown.live_bytes -= base.live_bytes;
  CHECK(grown == HeapUsage{2, 2, 100'010, 0});
  for (const std::string name : {"realloc-fails", "posix_memalign-errors", "duplicates"}) {
    CHECK(report_with(library, {semantics, name}).account("unmatched_frees") == 0);
  }
  report_with(library, {ALLOCTAP_PROGRAMS "operators", "single-objects"});
  CHECK(report_with(library, {ALLOCTAP_PROGRAMS "threads", "two"}).total("allocations") > 1000);
  report_with(library, {ALLOCTAP_PROGRAMS "forks", "often", "20"});
}

}  // namespace

TEST_CASE("jemalloc is tracked like the C library's allocator") {
  check_allocator("libjemalloc.so.2");
}

TEST_CASE("tcmalloc is tracked like the C library's allocator") {
  check_allocator("libtcmalloc_minimal.so.4");
}

TEST_CASE("a program with a malloc inside is told that it cannot be tracked, and runs on") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "own_malloc"});
  const Outcome outcome = run(program.tracked());
  CHECK(outcome.exit_code() == 5);
  CHECK(outcome.out == "own malloc works\n");
  CHECK(outcome.err.starts_with("alloctap-run: "));
  CHECK(outcome.err.find("defines its own malloc") != std::string::npos);
  CHECK(outcome.err.find("--hook=inline") != std::string::npos);
  CHECK(outcome.err.find("ALLOCTAP_") == std::string::npos);
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  CHECK(program.files().empty());
}
