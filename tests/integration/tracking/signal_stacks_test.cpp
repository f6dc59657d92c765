// Every thread has a stack for the handler of a fatal signal, and no program can tell.
#include <doctest/doctest.h>

#include <csignal>
#include <string>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;

const std::string kLives = ALLOCTAP_PROGRAMS "thread_lives";
const std::string kStacks = ALLOCTAP_PROGRAMS "signal_stacks";

Dump check_same(const std::string& path, const std::string& name) {
  CAPTURE(name);
  const TrackedProgram program({path, name});
  const Outcome alone = run(program.untracked());
  const Outcome tracked = run(program.tracked());
  CHECK_FALSE(tracked.timed_out);
  CHECK(tracked.status == alone.status);
  CHECK(tracked.out == alone.out);
  CHECK(tracked.err == alone.err);
  Dump dump = program.dump();
  check_report(dump);
  CHECK(dump.account("failed_unwinds") == 0);
  return dump;
}

std::string path_of_module(const Dump& dump, const Json& frame) {
  const Json& module = dump.frame(frame).at("module");
  return dump.json().at("modules").at(module.get<std::size_t>()).at("path");
}

}  // namespace

TEST_CASE("a program sees the signal stacks that it set, and none where it set none") {
  check_same(kStacks, "shows");
}

TEST_CASE("a program's handler runs on the program's stack in every thread") {
  check_same(kStacks, "survives");
}

TEST_CASE("threads end, and are told apart, as ever") { check_same(kLives, "ends"); }

TEST_CASE("an exception that leaves a thread ends the program as ever") {
  const TrackedProgram program({kLives, "throws"});
  const Outcome alone = run(program.untracked());
  const Outcome tracked = run(program.tracked());
  CHECK(tracked.signal() == SIGABRT);
  CHECK(tracked.err == alone.err);
  CHECK(program.files() == std::vector<std::string>{"dump.json"});
}

TEST_CASE("no two threads share a signal stack, also in a child of one that was forked") {
  const TrackedProgram program({kStacks, "tells"});
  const Outcome outcome =
      run(program.tracked_to("json=" + program.file("%p.json"), {"--follow-children"}));
  CHECK(outcome.out == "main: 1\nchild of main: 1\nthread: 1\nchild of thread: 1\ndone\n");
  CHECK(outcome.err == "");
  CHECK(program.files().size() == 3);
}

TEST_CASE("a signal stack is no allocation of the program") {
  const HeapUsage nothing = check_same(kLives, "nothing").usage();
  const HeapUsage many = check_same(kLives, "many").usage();
  // The C library's for the first thread; all others use it again.
  CHECK(many.allocations == nothing.allocations + 1);
  CHECK(many.deallocations == nothing.deallocations);
}

TEST_CASE("signal stacks of threads that have ended are used again") {
  const std::uint64_t few = check_same(kLives, "nothing").account("tracker_bytes");
  CHECK(check_same(kLives, "come-and-go").account("tracker_bytes") < few + (4 << 20));
  CHECK(check_same(kLives, "many").account("tracker_bytes") < few + (4 << 20));
}

TEST_CASE("signal stacks of threads that could not be made are used again") {
  const std::uint64_t few = check_same(kLives, "nothing").account("tracker_bytes");
  CHECK(check_same(kLives, "fails").account("tracker_bytes") < few + (4 << 20));
}

TEST_CASE("no frame of the tracker's stands in a thread's stacks") {
  const Dump dump = check_same(kLives, "allocates");
  for (const std::string leaf : {"allocate_in_thread", "allocate_in_c11_thread"}) {
    const auto stacks = dump.stacks_through("(anonymous namespace)::" + leaf);
    REQUIRE(stacks.size() == 1);
    const Json& frames = stacks.front().at("frames");
    // The routine, and two of the C library's.
    REQUIRE(frames.size() == 3);
    CHECK(path_of_module(dump, frames[1]).ends_with("libc.so.6"));
    CHECK(path_of_module(dump, frames[2]).ends_with("libc.so.6"));
  }
}
