// Every allocation function returns what it returns untracked, and is counted for what it did.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;

Dump report_of(const std::string& program_name, const std::string& name) {
  return report_of_unchanged(TrackedProgram({ALLOCTAP_PROGRAMS + program_name, name}));
}

struct Expected {
  const char* name;
  HeapUsage usage;
};

/// In the order allocations, deallocations, allocated bytes, live bytes.
constexpr Expected kCFunctions[] = {
    {"free-null", {0, 0, 0, 0}},
    {"malloc-zero", {1, 1, 0, 0}},
    {"malloc-huge", {0, 0, 0, 0}},
    {"calloc-overflow", {1, 0, 15, 15}},
    {"realloc-null", {1, 0, 10, 10}},
    {"realloc-to-zero", {1, 1, 10, 0}},
    {"realloc-grow", {2, 2, 10 + 100'000, 0}},
    {"realloc-fails", {1, 1, 10, 0}},
    {"reallocarray-overflow", {2, 2, 10 + 200, 0}},
    {"posix_memalign-errors", {1, 1, 100, 0}},
    {"aligned", {4, 4, 8192 + 100 + 10 + 10, 0}},
    {"duplicates", {3, 0, 13 + 7 + 4, 24}},
    {"usable-size", {1, 0, 100, 100}},
};

void add_expected(HeapUsage& sum, const HeapUsage& usage) {
  sum.allocations += usage.allocations;
  sum.deallocations += usage.deallocations;
  sum.allocated_bytes += usage.allocated_bytes;
  sum.live_bytes += usage.live_bytes;
}

/// What the C++ library allocates for itself at the start comes on top.
HeapUsage operators_usage(const HeapUsage& own) {
  HeapUsage usage = report_of("operators", "nothing").usage();
  add_expected(usage, own);
  return usage;
}

}  // namespace

TEST_CASE("the functions of C are counted exactly") {
  for (const Expected& expected : kCFunctions) {
    CAPTURE(expected.name);
    const Dump dump = report_of("semantics", expected.name);
    CHECK(dump.usage() == expected.usage);
    CHECK(dump.account("unmatched_frees") == 0);
  }
}

TEST_CASE("what the C library allocates on the program's behalf is counted") {
  const Dump dump = report_of("semantics", "library-functions");
  CHECK(dump.total("allocations") >= 2);
  CHECK(dump.total("live_bytes") == 0);
  CHECK(dump.account("unmatched_frees") == 0);
}

TEST_CASE("mappings are cut, moved and overlaid exactly") {
  const Dump dump = report_of("semantics", "mappings");
  const Json& mappings = dump.json().at("mappings");
  // 8 pages less a hole of 2; of the rest the last 4 became 16, and 1 of those was replaced.
  CHECK(mappings.at("live_bytes") == (2 + 16) * 4096);
  CHECK(mappings.at("live_mappings") == 4);
  CHECK(mappings.at("mappings") == 3);
  CHECK(mappings.at("unmappings") == 2);
  CHECK(dump.usage() == HeapUsage{});
}

TEST_CASE("every form of operator new and delete is counted exactly") {
  const HeapUsage expected = operators_usage({8, 6, 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8, 7 + 8});
  for (const std::string name : {"single-objects", "arrays"}) {
    CAPTURE(name);
    const Dump dump = report_of("operators", name);
    CHECK(dump.usage() == expected);
    CHECK(dump.account("unmatched_frees") == 0);
  }
}

TEST_CASE("an operator new that fails throws and leaves the tracker at work") {
  const Dump dump = report_of("operators", "failures");
  CHECK(dump.stacks_through("main").size() >= 1);
}

TEST_CASE("a new handler is called and may give up") { report_of("operators", "new-handler"); }

TEST_CASE("a program with an Abseil of its own is undisturbed") {
  const Dump dump = report_of("own_absl", "");
  CHECK(dump.total("allocations") >= 1000);
  CHECK(dump.account("unmatched_frees") == 0);
}
