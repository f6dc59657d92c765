// A program that confines itself runs as untracked, and leaves a report or a line that says why
// not.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

const Texts kHooks{"interpose", "plt", "inline", "malloc-hooks"};
const std::string kProgram = ALLOCTAP_PROGRAMS "confines_itself";

void check_report_of(const Texts& arguments, const Texts& options, std::uint64_t allocations) {
  CAPTURE(arguments);
  CAPTURE(options);
  const TrackedProgram program(arguments);
  const Outcome outcome = run(program.tracked(options));
  CHECK(outcome.exit_code() == 5);
  CHECK(outcome.err == "");
  REQUIRE(program.files() == Texts{"dump.json"});
  CHECK(program.dump().total("allocations") >= allocations);
}

void check_line_of(const Texts& arguments, const std::string& call) {
  CAPTURE(arguments);
  const TrackedProgram program(arguments);
  for (const Texts& options : {Texts{}, Texts{"--leaks=unreachable"}, Texts{"--interval=0.02"}}) {
    const Outcome outcome = run(program.tracked(options));
    CHECK(outcome.exit_code() == 5);
    CHECK(outcome.err.starts_with("alloctap-run: there is no report: "));
    CHECK(outcome.err.find(" refuses " + call + ";") != std::string::npos);
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  }
}

/// Runs the program with `limit`, an option and a value of ulimit.
Outcome run_limited(const std::string& limit) {
  const TrackedProgram program({"/bin/sh", "-c",
                                "ulimit " + limit + R"( && exec "$0" -- "$1" errno one most)",
                                ALLOCTAP_RUN_BINARY, kProgram});
  return run(program.untracked());
}

}  // namespace

TEST_CASE("a thread that may call only what malloc needs leaves a report") {
  for (const std::string action : {"kill", "errno"}) {
    for (const std::string calls : {"few", "no-futex", "most"}) {
      check_report_of({kProgram, action, "one", calls}, {}, 1002);
    }
  }
  for (const std::string option : {"--checks=level10", "--guard-pages=all", "--guard-pages=1/10",
                                   "--sample=512K", "--events=10M", "--leaks=unreachable"}) {
    check_report_of({kProgram, "kill", "one", "no-futex"}, {option}, 0);
  }
  for (const std::string& hook : kHooks) {
    check_report_of({kProgram, "kill", "one", "few"}, {"--hook=" + hook}, 1000);
  }
}

TEST_CASE("a program whose threads may all call what reports need leaves one") {
  for (const std::string action : {"kill", "errno"}) {
    check_report_of({kProgram, action, "all", "most"}, {}, 1002);
  }
}

TEST_CASE("a program whose threads may not call what reports need says so") {
  for (const std::string action : {"kill", "errno"}) {
    check_line_of({kProgram, action, "all", "few"}, "getpid");
    check_line_of({kProgram, action, "all", "no-futex"}, "futex");
  }
}

TEST_CASE("a followed child may confine all threads at once, also while the tracker's starts") {
  const TrackedProgram program({kProgram, "kill", "all", "start", "60"});
  const Outcome outcome =
      run(program.tracked_to("json=" + program.file("%p.json"), {"--follow-children"}));
  CHECK(outcome.exit_code() == 5);
  CHECK(outcome.err == "");
  CHECK(program.files().size() == 61);
}

TEST_CASE("a program in strict mode, which its one thread leaves, leaves a report") {
  check_report_of({kProgram, "strict"}, {}, 1);
}

TEST_CASE("under a limit of memory a program runs as untracked, and is reported or not in words") {
  for (int kilobytes = 4000; kilobytes <= 28000; kilobytes += 2000) {
    // The objects themselves take space, and little of it is data.
    for (const std::string& limit :
         {"-v " + std::to_string(kilobytes + 8000), "-d " + std::to_string(kilobytes)}) {
      CAPTURE(limit);
      const Outcome outcome = run_limited(limit);
      CHECK(outcome.exit_code() == 5);
      CHECK(outcome.err != "");
    }
  }
}
