// What people type first: reports on standard output, and hints at what they miss.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/support/process.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

constexpr const char* kTwoChildren = "/bin/true; /bin/true; exit 3";

Outcome run_by_launcher(Texts arguments, const std::string& directory = "/") {
  arguments.insert(arguments.begin(), ALLOCTAP_RUN_BINARY);
  return run({.arguments = std::move(arguments), .directory = directory});
}

std::string last_line_of(const std::string& text) {
  if (text.size() < 2) return text;
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

void check_hint(const Outcome& outcome) {
  CAPTURE(outcome.err);
  const std::string line = last_line_of(outcome.err);
  CHECK(line.starts_with("alloctap-run: "));
  CHECK(line.find("--follow-children") != std::string::npos);
  CHECK(outcome.err.find("--follow-children") == outcome.err.rfind("--follow-children"));
}

void check_no_hint(const Outcome& outcome) {
  CAPTURE(outcome.err);
  CHECK(outcome.err.find("--follow-children") == std::string::npos);
}

}  // namespace

TEST_CASE("a shell that only started others ends with a hint at their being untracked") {
  const TemporaryDirectory directory;
  const std::string script = directory.file("script.sh");
  std::ofstream(script) << "/bin/true\n/bin/true\nexit 3\n";
  for (const Texts& shell : {Texts{"/bin/sh", "-c", kTwoChildren},
                             Texts{"/bin/bash", "-c", kTwoChildren}, Texts{"/bin/sh", script}}) {
    CAPTURE(shell.front());
    const Outcome outcome = run_by_launcher(shell);
    CHECK(outcome.exit_code() == 3);
    CHECK(outcome.err.starts_with("alloctap "));
    check_hint(outcome);
  }
}

TEST_CASE("a shell that became its last program has the hint too") {
  const Outcome outcome = run_by_launcher({"/bin/bash", "-c", "/bin/true; exec /bin/true"});
  CHECK(outcome.exit_code() == 0);
  check_hint(outcome);
}

TEST_CASE("a program that allocates next to nothing beside its children has the hint") {
  check_hint(run_by_launcher({ALLOCTAP_PROGRAMS "forks", "spawn", "1"}));
}

TEST_CASE("the hint comes with --output too, and not where --dump keeps standard error clean") {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_by_launcher({"-o", "heap.json", "/bin/sh", "-c", kTwoChildren}, directory.file(""));
  check_hint(outcome);
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  CHECK(run_by_launcher({"--dump=heap.json", "/bin/sh", "-c", kTwoChildren}, directory.file(""))
            .err == "");
}

TEST_CASE("no hint where children were followed, or there were none") {
  const TemporaryDirectory directory;
  check_no_hint(run_by_launcher({"--follow-children", "/bin/sh", "-c", kTwoChildren}));
  check_no_hint(run_by_launcher({"/bin/sh", "-c", "echo done"}));
  // What names the functions of a plug-in before it goes is a child, too.
  check_no_hint(run_by_launcher({ALLOCTAP_PROGRAMS "closes_plugin", ALLOCTAP_PLUGIN_AT_END}));
  check_no_hint(run_by_launcher({"/bin/sh", "-c", "exec /bin/true"}));
  check_no_hint(run_by_launcher({"/usr/bin/python3", "-c", "import json, os; os.system('true')"}));
  // Children that alloctap-run's own process had are not the program's.
  check_no_hint(run({.arguments = {"/bin/sh", "-c", "/bin/true; exec \"$@\"", "sh",
                                   ALLOCTAP_RUN_BINARY, "/bin/sh", "-c", "echo done"}}));
}

TEST_CASE("a report for standard output comes behind what the program printed") {
  const Outcome outcome =
      run_by_launcher({"-o", "-", ALLOCTAP_PROGRAMS "operators", "single-objects"});
  CHECK(outcome.err == "");
  const Outcome alone = run({.arguments = {ALLOCTAP_PROGRAMS "operators", "single-objects"}});
  CHECK(outcome.out.starts_with(alone.out + "alloctap "));
}

TEST_CASE("a report for standard output reaches it though the program has closed it") {
  // GNU's programs close their standard output before they exit.
  const Outcome outcome = run_by_launcher({"--output=-", "/bin/ls", "-d", "/"});
  CHECK(outcome.err == "");
  CHECK(outcome.out.starts_with("/\nalloctap "));
  const Outcome json = run_by_launcher({"--dump=json=-", "/bin/ls", "-d", "/"});
  CHECK(json.err == "");
  CHECK(json.out.starts_with("/\n{\"schema\":\"alloctap.heap/1\""));
  const Outcome by_number = run_by_launcher({"--dump=text=/proc/self/fd/1", "/bin/ls", "-d", "/"});
  CHECK(by_number.err == "");
  CHECK(by_number.out.starts_with("/\nalloctap "));
  const Outcome error = run_by_launcher({"--dump=text=/proc/self/fd/2", "/bin/ls", "-d", "/"});
  CHECK(error.out == "/\n");
  CHECK(error.err.starts_with("alloctap "));
}
