// Signals do to a tracked program what they do to any, after the report is written.
#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;

/// The program is signalled once it has said that it is ready.
Outcome run_and_send(const Command& command, int signal) {
  Process process(command);
  REQUIRE(process.wait_for("ready\n"));
  process.send(signal);
  return process.finish();
}

void check_killed(const std::string& state, bool busy, int signal) {
  CAPTURE(state);
  CAPTURE(busy);
  CAPTURE(signal);
  std::vector<std::string> arguments{ALLOCTAP_PROGRAMS "waits_for_signal", state};
  if (busy) arguments.push_back("busy");
  const TrackedProgram program(arguments);
  const Outcome outcome = run_and_send(program.tracked(), signal);
  CHECK_FALSE(outcome.timed_out);
  CHECK(outcome.signal() == signal);
  CHECK(outcome.out == "ready\n");
  CHECK(outcome.err == "");
  REQUIRE(program.files() == std::vector<std::string>{"dump.json"});
  const Dump dump = program.dump();
  check_report(dump);
  CHECK(dump.total("allocations") >= 1000);
  CHECK(dump.json().at("account").at("consistent") == true);
}

void check_all_signals(const std::string& state) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE}) {
    check_killed(state, false, signal);
    check_killed(state, true, signal);
  }
}

/// Tracked and not, the program says the same, and ends the same when `signal` comes.
Outcome check_same(const TrackedProgram& program, int signal) {
  const Outcome alone = run_and_send(program.untracked(), signal);
  Outcome tracked = run_and_send(program.tracked(), signal);
  CHECK_FALSE(tracked.timed_out);
  CHECK(tracked.status == alone.status);
  CHECK(tracked.out == alone.out);
  CHECK(tracked.err == alone.err);
  check_report(program.dump());
  return tracked;
}

TrackedProgram handling(const std::string& way) {
  return TrackedProgram({ALLOCTAP_PROGRAMS "handles_signals", way});
}

}  // namespace

TEST_CASE("a signal ends a program that computes") { check_all_signals("compute"); }
TEST_CASE("a signal ends a program that reads") { check_all_signals("read"); }
TEST_CASE("a signal ends a program that sleeps") { check_all_signals("sleep"); }
TEST_CASE("a signal ends a program that waits for a signal") { check_all_signals("pause"); }
TEST_CASE("a signal ends a program that polls") { check_all_signals("poll"); }
TEST_CASE("a signal ends a program that allocates") { check_all_signals("allocate"); }
TEST_CASE("a signal ends a program that waits for a thread") { check_all_signals("join"); }
TEST_CASE("a signal that another thread gets ends the program") {
  check_all_signals("blocked-in-main");
}

TEST_CASE("a program's own handler is called as ever") {
  for (const std::string way : {"handler", "siginfo", "one-shot", "restart", "handler-exits"}) {
    CAPTURE(way);
    check_same(handling(way), SIGTERM);
  }
}

TEST_CASE("a signal that the program ignores does nothing") {
  CHECK(check_same(handling("ignores"), SIGTERM).exit_code() == 0);
}

TEST_CASE("a signal that the program blocks and takes is no end") {
  CHECK(check_same(handling("waits"), SIGTERM).exit_code() == 0);
  CHECK(check_same(handling("descriptor"), SIGTERM).exit_code() == 0);
}

TEST_CASE("a signal that is back at its default action ends the program") {
  for (const std::string way : {"back-to-default", "one-shot-twice"}) {
    CAPTURE(way);
    CHECK(check_same(handling(way), SIGTERM).signal() == SIGTERM);
  }
}

TEST_CASE("a program sees the actions that it has set and no others") {
  const Outcome outcome = check_same(handling("shows"), SIGTERM);
  CHECK(outcome.out.find("SIGTERM: default, flags 0\n") != std::string::npos);
}

TEST_CASE("a program that ignored a signal from the start goes on ignoring it") {
  const TrackedProgram program(
      {"/bin/sh", "-c", "trap '' TERM; exec " ALLOCTAP_PROGRAMS "handles_signals shows"});
  const Outcome outcome = check_same(program, SIGTERM);
  CHECK(outcome.out.find("SIGTERM: ignored") != std::string::npos);
}

TEST_CASE("an interrupted Python program raises KeyboardInterrupt") {
  TrackedProgram program(
      {"/usr/bin/python3", "-c",
       "import signal, time\n"
       "print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))\n"
       "print('ready', flush=True); time.sleep(60)\n"
       "print('woke up')\n"});
  const Outcome outcome = check_same(program, SIGINT);
  CHECK(outcome.signal() == SIGINT);
  CHECK(outcome.err.find("KeyboardInterrupt") != std::string::npos);
}

TEST_CASE(
    "a program that writes to a pipe which nobody reads dies of SIGPIPE and leaves a report") {
  const TrackedProgram program({"/bin/sh", "-c", "exec /usr/bin/yes"});
  Command command = program.tracked();
  std::string text;
  for (const std::string& argument : command.arguments) text += "'" + argument + "' ";
  command.arguments = {"/bin/bash", "-c", text + "| head -n 1; echo ${PIPESTATUS[0]}"};
  const Outcome outcome = run(command);
  CHECK(outcome.out == "y\n" + std::to_string(128 + SIGPIPE) + "\n");
  CHECK(outcome.err == "");
  check_report(program.dump());
}
