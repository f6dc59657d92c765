// However a program ends, it leaves a whole report, and ends as if nobody watched.
#include <doctest/doctest.h>

#include <csignal>
#include <initializer_list>
#include <string>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;

const std::string kEndings = ALLOCTAP_PROGRAMS "endings";

/// Both runs end alike, and nothing is left beside the report.
Outcome check_same_end(const TrackedProgram& program) {
  const Outcome alone = run(program.untracked());
  Outcome tracked = run(program.tracked());
  CHECK_FALSE(alone.timed_out);
  CHECK_FALSE(tracked.timed_out);
  CHECK(tracked.status == alone.status);
  CHECK(tracked.out == alone.out);
  CHECK(tracked.err == alone.err);
  return tracked;
}

void check_left_report(const TrackedProgram& program, std::uint64_t least_allocations) {
  REQUIRE(program.files() == std::vector<std::string>{"dump.json"});
  const Dump dump = program.dump();
  CHECK(find_misshapen(dump.json(), report_shape(), "") == "");
  CHECK(dump.total("allocations") >= least_allocations);
  CHECK(dump.account("dropped") == 0);
  check_indices(dump.json());
}

void check_ending(const std::string& name, bool busy) {
  CAPTURE(name);
  CAPTURE(busy);
  std::vector<std::string> arguments{kEndings, name};
  if (busy) arguments.push_back("busy");
  const TrackedProgram program(arguments);
  check_same_end(program);
  check_left_report(program, 1000);
  CHECK(program.dump().json().at("account").at("consistent") == true);
  check_sums(program.dump().json());
}

void check_endings(std::initializer_list<const char*> names) {
  for (const std::string name : names) {
    check_ending(name, false);
    check_ending(name, true);
  }
}

}  // namespace

TEST_CASE("a program that ends by itself leaves a report") {
  check_endings({"return", "exit", "_exit", "_Exit", "quick_exit", "thread-exit", "thread-_exit"});
}

TEST_CASE("a program that aborts leaves a report") {
  check_endings({"abort", "abort-past-handler", "abort-although-ignored", "thread-abort",
                 "uncaught-exception", "double-free"});
}

TEST_CASE("a program that crashes leaves a report") {
  check_endings({"null-pointer", "null-pointer-past-one-shot-handler", "wild-pointer",
                 "stack-overflow", "division-by-zero", "illegal-instruction", "breakpoint",
                 "thread-null-pointer"});
}

TEST_CASE("a thread whose stack overflows leaves a report") {
  check_endings({"thread-stack-overflow", "pthread-stack-overflow", "C11-thread-stack-overflow",
                 "thread-stack-overflow-past-own-signal-stack"});
}

TEST_CASE("a program that sends itself a signal leaves a report") {
  check_endings({"raise-SIGTERM", "kill-SIGSEGV", "kill-SIGHUP", "kill-SIGUSR1"});
}

TEST_CASE("threads that exit at the same time wait for the report") {
  for (int i = 0; i < 20; ++i) {
    const TrackedProgram program({kEndings, "many-exit"});
    const Outcome outcome = run(program.tracked());
    CHECK(outcome.exit_code() == 7);
    // Which handler runs in which thread, and so to its end, is as open as ever.
    CHECK(outcome.out.starts_with("begin\n"));
    CHECK(outcome.err == "");
    check_left_report(program, 1000);
  }
}

TEST_CASE("no thread passes the report, however long others take on their way to it") {
  for (int i = 0; i < 5; ++i) {
    const TrackedProgram program({ALLOCTAP_PROGRAMS "exit_race"});
    const Outcome outcome = run(program.tracked());
    CHECK(outcome.exit_code() == 7);
    CHECK(outcome.err == "");
    check_left_report(program, 1);
  }
}

TEST_CASE("a program whose main thread leaves ends with its last thread") {
  for (const std::string way :
       {"last-thread-ends", "main-leaves-by-thrd_exit", "main-leaves-by-cancellation",
        "main-leaves-by-system-call", "last-leaves-by-system-call", "last-is-ended-by-signal"}) {
    CAPTURE(way);
    const TrackedProgram program({kEndings, way});
    check_same_end(program);
    check_left_report(program, 1001);
  }
}

TEST_CASE("a signal handler that ends the program need not wait for what it interrupted") {
  for (const std::string name : {"exit-in-handler", "_exit-in-handler"}) {
    for (int i = 0; i < 5; ++i) {
      CAPTURE(name);
      TrackedProgram program({kEndings, name});
      program.command().patience = std::chrono::seconds(4);
      check_same_end(program);
      check_left_report(program, 1000);
    }
  }
}

TEST_CASE("a program that dies while its libraries are made ready leaves a report") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "dies_in_constructor"});
  CHECK(check_same_end(program).signal() == SIGTERM);
  check_left_report(program, 1000);
  CHECK(program.dump().account("failed_unwinds") == 0);
}

TEST_CASE("a program that is killed leaves no report and no part of one") {
  const TrackedProgram program({kEndings, "kill-SIGKILL"});
  CHECK(check_same_end(program).signal() == SIGKILL);
  CHECK(program.files().empty());
}
