// Child processes: none is disturbed, and those that are followed leave reports of their own.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

/// Blocks that `forks` allocates in each child have this size.
constexpr std::size_t kChildBytes = 37;

TrackedProgram forks(const std::string& way, int count = 1) {
  return TrackedProgram({ALLOCTAP_PROGRAMS "forks", way, std::to_string(count)});
}

std::vector<Dump> reports(const TrackedProgram& program) {
  std::vector<Dump> dumps;
  for (const std::string& file : program.files()) {
    CHECK(file.ends_with(".json"));
    Dump dump(program.file(file));
    CHECK(file == std::to_string(dump.json().at("program").at("pid").get<int>()) + ".json");
    check_report(dump);
    CHECK(dump.json().at("account").at("consistent") == true);
    dumps.push_back(std::move(dump));
  }
  return dumps;
}

std::uint64_t live_child_blocks(const Dump& dump) {
  std::uint64_t blocks = 0;
  for (const Json& stack : dump.stacks_through("(anonymous namespace)::allocate_in_child")) {
    blocks += stack.at("live_allocations").get<std::uint64_t>();
    CHECK(stack.at("live_bytes") == stack.at("live_allocations").get<std::size_t>() * kChildBytes);
  }
  return blocks;
}

void check_same(const Outcome& outcome, const TrackedProgram& program) {
  const Outcome alone = run(program.untracked());
  CHECK_FALSE(outcome.timed_out);
  CHECK(outcome.status == alone.status);
  CHECK(outcome.out == alone.out);
  CHECK(outcome.err == alone.err);
}

/// The program leaves one report, and its children none.
Dump check_not_followed(const TrackedProgram& program) {
  check_same(run(program.tracked()), program);
  CHECK(program.files() == Texts{"dump.json"});
  Dump dump = program.dump();
  check_report(dump);
  return dump;
}

std::vector<Dump> check_followed(const TrackedProgram& program, std::size_t count) {
  const std::string dump = "json=" + program.file("%p.json");
  check_same(run(program.tracked_to(dump, {"--follow-children"})), program);
  std::vector<Dump> dumps = reports(program);
  CHECK(dumps.size() == count);
  return dumps;
}

std::string command_of(const Dump& dump) {
  return dump.json().at("program").at("arguments").at(0).get<std::string>();
}

}  // namespace

TEST_CASE("a thousand forks beside two threads that allocate all the time") {
  TrackedProgram program = forks("often", 1000);
  program.command().patience = std::chrono::seconds(200);
  const Outcome outcome = run(program.tracked());
  CHECK(outcome.out == "1000 children, 0 failures\n");
  CHECK(outcome.err == "");
  CHECK(outcome.exit_code() == 0);
  CHECK(program.files() == Texts{"dump.json"});
  check_report(program.dump());
  CHECK(live_child_blocks(program.dump()) == 0);
}

TEST_CASE("a followed child may be ended at any moment after the fork") {
  const TrackedProgram program = forks("end-early", 200);
  const Outcome outcome =
      run(program.tracked_to("json=" + program.file("%p.json"), {"--follow-children"}));
  CHECK(outcome.out == "200 children, 0 failures\n");
  CHECK(outcome.err == "");
  reports(program);
}

TEST_CASE("50 followed forks beside two threads that allocate all the time") {
  TrackedProgram program = forks("often", 50);
  const Outcome outcome =
      run(program.tracked_to("json=" + program.file("%p.json"), {"--follow-children"}));
  CHECK(outcome.out == "50 children, 0 failures\n");
  CHECK(outcome.err == "");
  const std::vector<Dump> dumps = reports(program);
  CHECK(dumps.size() == 51);
  for (const Dump& dump : dumps) {
    const bool is_child = dump.json().at("program").at("pid") != outcome.pid;
    CHECK(live_child_blocks(dump) == (is_child ? 20 : 0));
  }
}

TEST_CASE("several threads fork at the same time") {
  check_not_followed(forks("from-threads", 100));
  check_followed(forks("from-threads", 20), 41);
}

TEST_CASE("a child whose only thread returns ends with it") {
  check_not_followed(forks("from-thread-that-returns"));
  std::uint64_t blocks = 0;
  for (const Dump& dump : check_followed(forks("from-thread-that-returns"), 2)) {
    blocks += live_child_blocks(dump);
  }
  CHECK(blocks == 10);
}

TEST_CASE("a child's child is followed too") {
  check_not_followed(forks("grandchild"));
  std::uint64_t blocks = 0;
  for (const Dump& dump : check_followed(forks("grandchild"), 3)) blocks += live_child_blocks(dump);
  // The grandchild has a copy of what its parent had.
  CHECK(blocks == 10 + (10 + 20));
}

TEST_CASE("a child that becomes another program is followed into it") {
  for (const std::string way : {"vfork-exec", "spawn", "system", "popen"}) {
    CAPTURE(way);
    CHECK(command_of(check_not_followed(forks(way))).ends_with("forks"));
    std::vector<Dump> dumps = check_followed(forks(way), 2);
    const auto others = std::count_if(dumps.begin(), dumps.end(), [](const Dump& dump) {
      return command_of(dump) == "/bin/echo" || command_of(dump) == "sh";
    });
    CHECK(others == 1);
  }
}

TEST_CASE("a child of vfork that only leaves is its parent's guest") {
  check_not_followed(forks("vfork-_exit"));
  check_followed(forks("vfork-_exit"), 1);
}

TEST_CASE("after exec the report is the new program's") {
  CHECK(command_of(check_not_followed(forks("exec"))) == "/bin/echo");
  CHECK(command_of(check_followed(forks("exec"), 1).front()) == "/bin/echo");
  const TrackedProgram script({"/bin/sh", "-c", "exec /usr/bin/jq -n '[range(10)]|length'"});
  const Dump dump = check_not_followed(script);
  CHECK(dump.json().at("program").at("executable") == "/usr/bin/jq");
  CHECK_FALSE(dump.stacks_through("jv_array_sized").empty());
}

TEST_CASE("an exec that fails changes nothing") {
  CHECK(check_not_followed(forks("exec-missing")).total("allocations") >= 100);
}

TEST_CASE("a child that is killed by a signal leaves a report if it is followed") {
  for (const std::string way : {"child-SIGTERM", "child-SIGSEGV"}) {
    CAPTURE(way);
    check_not_followed(forks(way));
    std::uint64_t blocks = 0;
    for (const Dump& dump : check_followed(forks(way), 2)) blocks += live_child_blocks(dump);
    CHECK(blocks == 10);
  }
  check_not_followed(forks("child-SIGKILL"));
  check_followed(forks("child-SIGKILL"), 1);
}
