// The environment that a program and its children find, and programs that become others.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

const Texts kExecFunctions{"execve", "execv",  "execvpe", "execvp",   "execl",
                           "execlp", "execle", "fexecve", "execveat", "no-environment"};

/// LD_PRELOAD as the user may have it: not set, and set to what changes nothing.
const Texts kVariables{"A=0", "LD_PRELOAD=/usr/lib/" ALLOCTAP_MULTIARCH "/libm.so.6",
                       "LD_PRELOAD="};

/// The executable that the report of `executes` is about. It is the same with and without a
/// tracker.
std::string executable_in_report(Texts arguments, const std::string& variable) {
  CAPTURE(variable);
  CAPTURE(arguments.front());
  arguments.insert(arguments.begin(), ALLOCTAP_PROGRAMS "executes");
  TrackedProgram program(std::move(arguments));
  program.command().environment.push_back(variable);
  program.command().environment.push_back("WEIRD=a\nb=\xff");
  const Dump dump = report_of_unchanged(program);
  CHECK(program.files() == Texts{"dump.json"});
  return dump.json().at("program").at("executable").get<std::string>();
}

}  // namespace

TEST_CASE("children that are not followed find the environment that the user gave") {
  Texts ways = kExecFunctions;
  ways.insert(ways.end(), {"system-call", "spawn", "spawnp", "vfork", "system", "popen"});
  for (const std::string& variable : kVariables) {
    for (const std::string& way : ways) {
      CHECK(executable_in_report({way, "fork"}, variable).ends_with("/executes"));
    }
  }
}

TEST_CASE("a program that becomes another one by whatever function is tracked in it") {
  for (const std::string& variable : kVariables) {
    for (const std::string& way : kExecFunctions) {
      CHECK(executable_in_report({way}, variable) == "/usr/bin/env");
    }
  }
}

TEST_CASE("a program that cannot be tracked finds the environment that the user gave") {
  const std::string program = ALLOCTAP_PROGRAMS "prints_environment";
  const std::string through_path = "PATH=$PATH:" ALLOCTAP_PROGRAMS " exec env prints_environment";
  for (const std::string& way : {"exec " + program, "exec env " + program, through_path}) {
    CAPTURE(way);
    const TrackedProgram shell({"/bin/sh", "-c", way});
    const Outcome outcome = run(shell.tracked());
    CHECK(outcome.out == run(shell.untracked()).out);
    CHECK(outcome.err.find("/prints_environment', which the program becomes") != std::string::npos);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    CHECK(outcome.exit_code() == 0);
  }
}

TEST_CASE("a followed child that cannot be tracked finds the environment that the user gave") {
  for (const std::string way : {"execve", "execv", "execvpe", "execvp", "execl", "execlp", "execle",
                                "fexecve", "execveat", "spawn", "spawnp", "vfork", "system"}) {
    CAPTURE(way);
    TrackedProgram program(
        {ALLOCTAP_PROGRAMS "executes", way, "fork", ALLOCTAP_PROGRAMS "prints_environment"});
    program.command().environment = {"PATH=/usr/bin:/bin:" ALLOCTAP_PROGRAMS, kVariables[1]};
    const Outcome outcome =
        run(program.tracked_to("json=" + program.file("%p.json"), {"--follow-children"}));
    CHECK(outcome.out == run(program.untracked()).out);
    CHECK(outcome.out.find("PATH=") != std::string::npos);
    CHECK(outcome.err == "");
  }
}

TEST_CASE("the auxiliary vector is found behind the environment") {
  for (const std::string& variable : kVariables) {
    CHECK(executable_in_report({"auxiliary"}, variable).ends_with("/executes"));
  }
}
