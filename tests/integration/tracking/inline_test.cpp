// Programs under alloctap-run --hook=inline: unchanged, and with the totals of interposition. Both
// start at the same moment, before all constructors but the tracker's own.
#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;

constexpr const char* kInline = "--hook=inline";

struct BothReports {
  Dump interposed;
  Dump patched;
};

BothReports reports_of(const TrackedProgram& program) {
  return {report_of_unchanged(program, {"--hook=interpose"}),
          report_of_unchanged(program, {kInline})};
}

void check_same_totals_of(const BothReports& reports) {
  for (const char* total : {"allocations", "deallocations", "allocated_bytes", "live_allocations",
                            "live_bytes", "temporary_allocations"}) {
    CAPTURE(total);
    CHECK(reports.patched.total(total) == reports.interposed.total(total));
  }
}

/// The C library calls its own mmap without passing through what is in front of it: for locales,
/// and for the stacks of threads.
void check_own_mappings(const BothReports& reports) {
  for (const char* count : {"mappings", "mapped_bytes"}) {
    CAPTURE(count);
    CHECK(reports.patched.json().at("mappings").at(count) >
          reports.interposed.json().at("mappings").at(count));
  }
}

/// Neither handlers nor stubs nor trampolines show.
void check_innermost_frames(const Dump& dump) {
  std::size_t nowhere = 0;
  std::size_t ours = 0;
  for (const Json& stack : dump.json().at("stacks")) {
    const Json& frames = stack.at("frames");
    for (const Json& index : frames) nowhere += dump.frame(index).at("module").is_null() ? 1 : 0;
    if (frames.empty() || dump.frame(frames.at(0)).at("module").is_null()) continue;
    const auto module = dump.frame(frames.at(0)).at("module").get<std::size_t>();
    const std::string path = dump.json().at("modules").at(module).at("path");
    ours += path.find("liballoctap") == path.npos ? 0 : 1;
  }
  CHECK(nowhere == 0);
  CHECK(ours == 0);
  CHECK(dump.account("failed_unwinds") == 0);
}

std::string path_of(const std::string& program) {
  const Outcome found = run({.arguments = {"/bin/sh", "-c", "command -v " + program}});
  return found.out.substr(0, found.out.find('\n'));
}

}  // namespace

TEST_CASE("sqlite3 has the totals of interposition, and the same stacks") {
  const BothReports reports = reports_of(TrackedProgram({"/usr/bin/sqlite3", ":memory:", R"(
    CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO person SELECT i, 'person number ' || i, i % 90 FROM n;
    CREATE INDEX person_by_age ON person(age, name);
    SELECT count(*), group_concat(name) FROM person WHERE age < 3;
  )"}));
  CHECK(reports.patched.total("allocations") > 40'000);
  check_same_totals_of(reports);
  check_innermost_frames(reports.patched);
  CHECK(reports.patched.json().at("stacks").size() ==
        reports.interposed.json().at("stacks").size());
  CHECK(reports.patched.json().at("backend").at("hook") == "inline");
}

TEST_CASE("python3 has the totals of interposition, the loader's blocks among them") {
  TrackedProgram program(
      {"/usr/bin/python3", "-c", "import json, ctypes; print(len(json.dumps([1] * 1000)))"});
  program.command().environment.push_back("PYTHONHASHSEED=0");
  // Its allocator keeps notes for each 16 GiB of addresses that it has blocks in.
  program.command().fixed_addresses = true;
  const BothReports reports = reports_of(program);
  CHECK(reports.patched.total("allocations") > 2'000);
  check_same_totals_of(reports);
  check_own_mappings(reports);
  check_innermost_frames(reports.patched);
  CHECK_FALSE(reports.patched.stacks_through("_dl_map_object").empty());
}

TEST_CASE("node runs, with the totals of interposition but for what it does by chance") {
  const std::string node = path_of("node");
  if (node.empty()) return;
  const BothReports reports =
      reports_of(TrackedProgram({node, "-e", "console.log([1, 2, 3].map(x => x * 2).join())"}));
  CHECK(reports.patched.total("allocations") > 10'000);
  // Whether its threads find each other at work differs by a block or two from run to run.
  for (const char* total : {"allocations", "deallocations"}) {
    CAPTURE(total);
    const auto difference = static_cast<std::int64_t>(reports.patched.total(total)) -
                            static_cast<std::int64_t>(reports.interposed.total(total));
    CHECK(std::abs(difference) < 20);
  }
  check_own_mappings(reports);
}

TEST_CASE("a shell finds its environment, and its children are as ever") {
  TrackedProgram program(
      {"/bin/sh", "-c", "echo $PATH $GREETING; for i in 1 2; do echo $i | cat; done; exit 3"});
  program.command().environment.push_back("GREETING=hello");
  CHECK(report_of_unchanged(program, {kInline}).total("allocations") > 10);
}

TEST_CASE("the compiler's driver and its children each are patched and leave a report") {
  const TrackedProgram program({"/usr/bin/g++", "-fsyntax-only", "empty.cpp"});
  std::ofstream(program.file("empty.cpp")) << "int x;\n";
  const Outcome outcome =
      run(program.tracked_to("json=" + program.file("%p.json"), {kInline, "--follow-children"}));
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  int reports = 0;
  for (const std::string& file : program.files()) {
    if (!file.ends_with(".json")) continue;
    ++reports;
    const Dump dump(program.file(file));
    check_report(dump);
    CHECK(dump.total("allocations") > 100);
  }
  CHECK(reports == 2);
}

TEST_CASE("exceptions pass through patched operators, and every form is seen") {
  report_of_unchanged(TrackedProgram({ALLOCTAP_PROGRAMS "operators", "single-objects"}), {kInline});
}

TEST_CASE("the functions of C do what they do, and leave errno alone from the start") {
  for (const std::string name : {"malloc-zero", "malloc-huge", "realloc-null", "realloc-to-zero",
                                 "realloc-fails", "posix_memalign-errors", "duplicates"}) {
    CAPTURE(name);
    report_of_unchanged(TrackedProgram({ALLOCTAP_PROGRAMS "semantics", name}), {kInline});
  }
}

TEST_CASE("threads and forks are tracked as ever") {
  const TrackedProgram threads({ALLOCTAP_PROGRAMS "threads", "two"});
  CHECK(report_of_unchanged(threads, {kInline}).total("allocations") > 1000);
  report_of_unchanged(TrackedProgram({ALLOCTAP_PROGRAMS "forks", "often", "20"}), {kInline});
}

TEST_CASE("a program with a malloc inside is tracked, where nothing could stand in front of it") {
  const Dump dump =
      report_of_unchanged(TrackedProgram({ALLOCTAP_PROGRAMS "own_malloc"}), {kInline});
  CHECK(dump.total("allocations") >= 1);
  CHECK(dump.total("allocated_bytes") >= 100);
}

TEST_CASE("an allocator that the user preloads is patched in the C library's place") {
  const auto reports_with = [](const std::string& library) {
    TrackedProgram program({"/usr/bin/sqlite3", ":memory:", "select hex(zeroblob(10000))"});
    program.command().environment.push_back("LD_PRELOAD=/usr/lib/" ALLOCTAP_MULTIARCH "/" +
                                            library);
    return reports_of(program);
  };
  check_same_totals_of(reports_with("libjemalloc.so.2"));
  // It tries itself when it is loaded, by names of its own: tc_malloc is malloc, tc_new is new.
  const BothReports reports = reports_with("libtcmalloc_minimal.so.4");
  CHECK(reports.patched.total("allocations") == reports.interposed.total("allocations") + 2);
  CHECK(reports.patched.total("live_bytes") == reports.interposed.total("live_bytes"));
  check_innermost_frames(reports.patched);
}

TEST_CASE("the traps of patched functions do not show") {
  // Python tells what handles a signal when it starts.
  report_of_unchanged(TrackedProgram({"/usr/bin/python3", "-c",
                                      "import signal; print(signal.getsignal(signal.SIGTRAP), "
                                      "signal.getsignal(signal.SIGILL))"}),
                      {kInline});
}

TEST_CASE("traps of the program end it where functions are patched") {
  for (const auto& [ending, signal] :
       {std::pair{"breakpoint", SIGTRAP}, {"illegal-instruction", SIGILL}}) {
    CAPTURE(ending);
    const TrackedProgram program({ALLOCTAP_PROGRAMS "endings", ending});
    CHECK(run(program.tracked({kInline})).signal() == signal);
    const Dump dump = program.dump();
    check_report(dump);
    CHECK(dump.total("allocations") >= 1000);
  }
}

TEST_CASE("where memory may not become code the reason is told, and the program runs unharmed") {
  const std::string_view reasons[][2] = {{"any", "does not let memory become executable"},
                                         {"writable", "does not let its code be written"}};
  for (const auto& [forbidden, reason] : reasons) {
    const TrackedProgram program({ALLOCTAP_PROGRAMS "forbids_code", std::string(forbidden),
                                  "/bin/sh", "-c", "echo said; exit 7"});
    const Outcome outcome = run(program.tracked({kInline}));
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code() == 7);
    CHECK(outcome.out == "said\n");
    CHECK(outcome.err.starts_with("alloctap-run: FunctionPatch: "));
    CHECK(outcome.err.find(reason) != outcome.err.npos);
    CHECK(outcome.err.find("--hook=plt writes no code") != outcome.err.npos);
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
    CHECK(program.files().empty());
  }
}
