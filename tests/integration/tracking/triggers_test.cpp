// Reports that a program leaves while it runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/os/clock.hpp"
#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

TrackedProgram waiting(const std::string& way, const Texts& files) {
  Texts arguments{ALLOCTAP_PROGRAMS "triggers", way};
  arguments.insert(arguments.end(), files.begin(), files.end());
  return TrackedProgram(arguments);
}

Outcome run_numbered(const TrackedProgram& program, const Texts& options) {
  return run(program.tracked_to("json=" + program.file("heap.%n.json"), options));
}

std::uint64_t time_of(const Dump& dump) {
  return dump.json().at("program").at("time_ns").get<std::uint64_t>();
}

/// Reports 1 to the last, each sound and of a later time; nothing else is there.
std::vector<Dump> dumps_of(const TrackedProgram& program) {
  std::vector<Dump> dumps;
  const std::size_t count = program.files().size();
  for (std::size_t i = 1; i <= count; ++i) {
    dumps.emplace_back(program.file("heap." + std::to_string(i) + ".json"));
    check_report(dumps.back());
    if (i > 1) CHECK(time_of(dumps[i - 2]) < time_of(dumps[i - 1]));
  }
  return dumps;
}

const Texts kThree{"heap.1.json", "heap.2.json", "heap.3.json"};

}  // namespace

TEST_CASE("an interval makes a report each time, and one at the end") {
  const TrackedProgram program = waiting("wait", kThree);
  const auto start = static_cast<std::uint64_t>(alloctap::os::wall_clock_ns());
  const Outcome outcome = run_numbered(program, {"--interval=0.2"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  const std::vector<Dump> dumps = dumps_of(program);
  REQUIRE(dumps.size() >= 4);
  // However late one is, none comes before its time.
  for (std::size_t i = 0; i < 3; ++i) CHECK(time_of(dumps[i]) - start >= (i + 1) * 190'000'000);
}

TEST_CASE("without %n the last report is the one that is there") {
  const TrackedProgram program = waiting("wait", {"heap.json"});
  const Outcome outcome =
      run(program.tracked_to("json=" + program.file("heap.json"), {"--interval=0.1"}));
  CHECK(outcome.status == 0);
  CHECK(program.files() == Texts{"heap.json"});
  check_report(Dump(program.file("heap.json")));
}

TEST_CASE("growth makes a report each time that so much more is live") {
  const TrackedProgram program = waiting("grow", kThree);
  const Outcome outcome = run_numbered(program, {"--threshold=3M"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  const std::vector<Dump> dumps = dumps_of(program);
  REQUIRE(dumps.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(dumps[i].total("live_bytes") >= (i + 1) * (3 << 20));
    CHECK(dumps[i].total("live_bytes") < (i + 2) * (3 << 20));
  }
}

TEST_CASE("less growth makes none") {
  const TrackedProgram program = waiting("wait", {});
  CHECK(run_numbered(program, {"--threshold=100M"}).status == 0);
  CHECK(program.files() == Texts{"heap.1.json"});
}

TEST_CASE("a signal makes a report, and the program sees its default action") {
  const TrackedProgram program = waiting("raise", kThree);
  const Outcome outcome = run_numbered(program, {"--signal=USR1"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  CHECK(dumps_of(program).size() == 4);
}

TEST_CASE("a handler of the program comes first, and the user is told") {
  const TrackedProgram program = waiting("handle", {});
  const Outcome outcome = run_numbered(program, {"--signal=USR1"});
  CHECK(outcome.status == 0);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(outcome.err.find("SIGUSR1") != std::string::npos);
  CHECK(program.files() == Texts{"heap.1.json"});
}

TEST_CASE("followed children number their own reports") {
  const TrackedProgram program({"/bin/sh", "-c", "sleep 0.5; true"});
  const Outcome outcome = run(program.tracked_to("json=" + program.file("heap.%p.%n.json"),
                                                 {"--interval=0.2", "--follow-children"}));
  CHECK(outcome.status == 0);
  std::size_t first = 0;
  for (const std::string& file : program.files()) {
    if (file.ends_with(".1.json")) ++first;
    check_report(Dump(program.file(file)));
  }
  CHECK(first >= 1);
  CHECK(program.files().size() >= 3);
}
