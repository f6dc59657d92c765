// Sizes and alignments at their edges have the results that they have untracked, with every check.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;

/// The first line of `found` that is another one in `expected`; "" where all are the same.
std::string first_difference(const std::string& expected, const std::string& found) {
  std::istringstream expected_lines(expected);
  std::istringstream found_lines(found);
  std::string line;
  for (std::string untracked; std::getline(expected_lines, untracked);) {
    std::getline(found_lines, line);
    if (line != untracked) return "untracked: " + untracked + "\n  tracked: " + line;
  }
  return std::getline(found_lines, line) ? "tracked alone: " + line : "";
}

const TrackedProgram& sizes_and_alignments() {
  static const TrackedProgram program({ALLOCTAP_PROGRAMS "sizes_and_alignments"});
  return program;
}

void check_same_results(const std::vector<std::string>& options) {
  static const Outcome alone = run(sizes_and_alignments().untracked());
  REQUIRE(alone.exit_code() == 0);
  const Outcome tracked = run(sizes_and_alignments().tracked(options));
  CHECK(tracked.status == alone.status);
  CHECK(first_difference(alone.out, tracked.out) == "");
  CHECK(tracked.err == "");
  const Dump dump = sizes_and_alignments().dump();
  check_report(dump);
  if (options[0].starts_with("--hook")) return;
  CHECK(dump.json().at("misuses").at("faults") == Json::array());
  CHECK(dump.json().at("misuses").at("left_out") == 0);
}

}  // namespace

TEST_CASE("sizes and alignments at their edges have the same results under every hook") {
  for (const char* hook : {"interpose", "plt", "inline"}) {
    CAPTURE(hook);
    check_same_results({std::string("--hook=") + hook});
  }
}

TEST_CASE("sizes and alignments at their edges have the same results with each check") {
  for (const char* checks :
       {"front_guard", "rear_guard", "expand_alloc", "fill_on_alloc", "fill_on_free", "free_track",
        "verify_pointers", "guard_pages,guard_pages_left"}) {
    CAPTURE(checks);
    check_same_results({std::string("--checks=") + checks});
  }
}

TEST_CASE("sizes and alignments at their edges have the same results with all checks together") {
  check_same_results({"--checks=level10,fill_on_alloc"});
  check_same_results({"--guard-pages=all"});
  check_same_results({"--checks=level10", "--string-checks", "--guard-pages=1/10"});
}
