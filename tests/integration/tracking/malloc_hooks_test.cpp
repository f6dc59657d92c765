// Programs under alloctap-run --hook=malloc-hooks, against the same under --hook=interpose.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;

const std::string kLibraries = "/usr/lib/" ALLOCTAP_MULTIARCH "/";

Dump report_by(const TrackedProgram& program, const std::string& hook) {
  CAPTURE(hook);
  return report_of_unchanged(program, {"--hook=" + hook});
}

std::string told(const Dump& dump, const char* key) {
  return dump.json().at("backend").at(key).get<std::string>();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The calls of malloc and its family are the same; those of mmap are told by interposition alone,
/// and the other report says so.
void check_same_calls(const TrackedProgram& program) {
  const Dump interposed = report_by(program, "interpose");
  const Dump hooked = report_by(program, "malloc-hooks");
  CHECK(told(interposed, "hook") == "interpose");
  CHECK(told(hooked, "hook") == "malloc-hooks (glibc-debug)");
  CHECK(hooked.total("allocations") == interposed.total("allocations"));
  CHECK(hooked.total("deallocations") == interposed.total("deallocations"));
  CHECK(hooked.total("live_bytes") == interposed.total("live_bytes"));
  CHECK(hooked.account("unmatched_frees") == interposed.account("unmatched_frees"));
  CHECK(hooked.account("failed_unwinds") == 0);
  // Paths in the environment, which a program may copy, are not of one length.
  const auto bytes = static_cast<double>(interposed.total("allocated_bytes"));
  CHECK(static_cast<double>(hooked.total("allocated_bytes")) ==
        doctest::Approx(bytes).epsilon(1e-3));
  CHECK(contains(told(hooked, "unseen"), "mmap and its relatives"));
  CHECK_FALSE(contains(told(interposed, "unseen"), "mmap and its relatives"));
  // What alloctap-run preloads stands in front of it.
  CHECK_FALSE(contains(told(hooked, "unseen"), "dlclose"));
  CHECK(hooked.json().at("mappings").at("mappings") == 0);
}

}  // namespace

TEST_CASE("sqlite3 gives the same totals by the hooks of glibc's debug library") {
  check_same_calls(TrackedProgram({"/usr/bin/sqlite3", ":memory:", R"(
    CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO person SELECT i, 'person number ' || i, i % 90 FROM n;
    CREATE INDEX person_by_age ON person(age, name);
    SELECT count(*), group_concat(name) FROM person WHERE age < 3;
  )"}));
}

TEST_CASE("python3 gives the same totals by the hooks of glibc's debug library") {
  TrackedProgram program(
      {"/usr/bin/python3", "-S", "-c",
       "d = {i: str(i) * 3 for i in range(20000)}; print(len(d), sum(map(len, d.values())))"});
  program.command().environment.push_back("PYTHONHASHSEED=0");
  // Its allocator keeps 128 KiB of notes for each 16 GiB of addresses that it has blocks in, so one
  // time in some thousand there are two of them.
  program.command().fixed_addresses = true;
  check_same_calls(program);
}

TEST_CASE("an allocator that the user preloads stays the program's, and its own hooks are taken") {
  TrackedProgram program({ALLOCTAP_PROGRAMS "operators", "single-objects"});
  program.command().environment.push_back("LD_PRELOAD=" + kLibraries + "libtcmalloc_minimal.so.4");
  CHECK(told(report_by(program, "malloc-hooks"), "hook") == "malloc-hooks (gperftools)");
}

TEST_CASE("a program whose malloc has no hooks is told so, and runs on") {
  TrackedProgram program({ALLOCTAP_PROGRAMS "operators", "single-objects"});
  program.command().environment.push_back("LD_PRELOAD=" + kLibraries + "libjemalloc.so.2");
  const Outcome outcome = run(program.tracked({"--hook=malloc-hooks"}));
  CHECK(outcome.exit_code() == run(program.untracked()).exit_code());
  CHECK(
      outcome.err.starts_with("alloctap-run: MallocHooks: no allocator of this process has hooks"));
  CHECK(contains(outcome.err, "another allocator stands in front"));
  CHECK(outcome.err.ends_with("write --hook=interpose, --hook=plt, --hook=inline instead\n"));
  CHECK(program.files().empty());
}
