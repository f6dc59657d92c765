// What alloctap-run.exe finds of the blocks that a program cannot get at any more.
#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "tests/integration/windows/lifetime_breakdown.hpp"
#include "tests/integration/windows/run_workplace.hpp"

namespace {

using namespace alloctap::testing;
using Json = nlohmann::json;

/// What is said of the one block of that size: "reachable", "definite", "indirect", or what is odd.
std::string verdict_of(const Json& report, std::size_t bytes) {
  std::string verdict;
  for (const Json& stack : report.at("stacks")) {
    if (stack.at("live_bytes") != bytes || stack.at("live_allocations") != 1) continue;
    const Json& found = stack.at("unreachable");
    const bool is_definite = found.at("definite_bytes") == bytes;
    const bool is_indirect = found.at("indirect_bytes") == bytes;
    verdict += is_definite ? "definite" : is_indirect ? "indirect" : "reachable";
  }
  return verdict.empty() ? "not there" : verdict;
}

void check_held(const Json& report) {
  for (unsigned how = 0; how < static_cast<unsigned>(Held::kEnd); ++how) {
    CAPTURE(how);
    CHECK(verdict_of(report, bytes_of(static_cast<Held>(how))) == "reachable");
  }
}

void check_lost(const Json& report) {
  for (unsigned how = 0; how < static_cast<unsigned>(Lost::kEnd); ++how) {
    CAPTURE(how);
    const std::string expected = static_cast<Lost>(how) == Lost::kTail ? "indirect" : "definite";
    CHECK(verdict_of(report, bytes_of(static_cast<Lost>(how))) == expected);
  }
}

Json report_of(const Workplace& place, const std::string& options) {
  const PipedOutcome outcome =
      place.run(options + " --leaks=unreachable --dump json=a.json", "held");
  CAPTURE(outcome.err);
  CHECK(outcome.err == "");
  CHECK(outcome.code == 7);
  return place.json("a.json");
}

}  // namespace

TEST_CASE("what a program of Windows holds is no leak, and what it lost is one") {
  for (const std::string options : {"", "--checks=level10", "--guard-pages=all"}) {
    CAPTURE(options);
    const Workplace place;
    const Json report = report_of(place, options);
    check_held(report);
    check_lost(report);
    const Json& scan = report.at("leaks").at("unreachable");
    CHECK(scan.at("unseen_threads") == 0);
    CHECK(scan.at("unread_bytes") == 0);
    CHECK(scan.at("stopped_ns") > 0);
    CHECK(scan.at("definite").at("live_allocations") == 5);
    CHECK(scan.at("indirect").at("live_allocations") == 1);
  }
}

TEST_CASE("nothing that is held is a leak where less is seen") {
  for (const std::string options : {"--hook=imports", "--mmap=off", "--events=1M"}) {
    CAPTURE(options);
    const Workplace place;
    check_held(report_of(place, options));
  }
}

TEST_CASE("nothing is lost of what threads of Windows move about while they are stopped") {
  for (const std::string options : {"", "--checks=level10"}) {
    CAPTURE(options);
    const Workplace place;
    const PipedOutcome outcome = place.run(
        options + " --leaks=unreachable --interval=0.03 --max-frames=8 --dump json=%n.json",
        "moving");
    CAPTURE(outcome.err);
    CHECK(outcome.err == "");
    CHECK(outcome.code == 7);
    const auto reports = place.reports();
    CHECK(reports.size() > 1);
    for (const Json& report : reports) {
      const Json& leaks = report.at("leaks");
      CHECK(leaks.at("unreachable").at("unseen_threads") == 0);
      CHECK(leaks.at("live_allocations") == 0);
    }
  }
}

TEST_CASE("leaks choose the code that a program of Windows ends with") {
  const Workplace place;
  const std::string options = "--leaks=unreachable --error-exitcode=50 --dump text=a.txt";
  CHECK(place.run(options, "held").code == 50);
  CHECK(place.run(options, "arguments").code == 7);
}
