// Programs under alloctap-run --hook=plt: unchanged, and with the totals of interposition where
// both see the same calls.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;
using Options = std::vector<std::string>;

Dump report_in_slots(const TrackedProgram& program) {
  return report_of_unchanged(program, {"--hook=plt"});
}

Dump dump_of(const TrackedProgram& program, const Options& options) {
  const Outcome outcome = run(program.tracked(options));
  CHECK(outcome.status == 0);
  Dump dump = program.dump();
  check_report(dump);
  return dump;
}

void check_same_totals(const Dump& one, const Dump& other) {
  for (const char* total : {"allocations", "allocated_bytes", "deallocations", "live_bytes"}) {
    CAPTURE(total);
    CHECK(one.total(total) == other.total(total));
  }
}

const char* const kSql =
    "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where "
    "x<2000) insert into t select x, hex(x) from c; create index i on t(b); select count(*) from t";

TrackedProgram three_libraries() { return TrackedProgram({ALLOCTAP_PROGRAMS "three_libraries"}); }

}  // namespace

TEST_CASE("sqlite3 has the same totals through slots and through interposition") {
  const TrackedProgram program({"/usr/bin/sqlite3", ":memory:", kSql});
  const Dump slots = report_in_slots(program);
  CHECK(slots.total("allocations") > 4'000);
  check_same_totals(slots, dump_of(program, {"--hook=interpose"}));
}

TEST_CASE("python3 is unchanged, and what differs is what the loader allocates") {
  const TrackedProgram program(
      {"/usr/bin/python3", "-c", "import json, ctypes; print(len(json.dumps([1] * 1000)))"});
  const Dump slots = report_in_slots(program);
  const Dump interposed = dump_of(program, {"--hook=interpose"});
  CHECK(slots.total("allocations") <= interposed.total("allocations"));
  CHECK(slots.total("allocations") * 100 > interposed.total("allocations") * 90);
  CHECK(slots.json().dump().find("from the loader") != std::string::npos);
}

TEST_CASE("the compiler compiles to the same code") {
  const Outcome found = run({.arguments = {"/usr/bin/g++", "-print-prog-name=cc1plus"}});
  const TrackedProgram program({found.out.substr(0, found.out.find('\n')), "-quiet", "-std=c++20",
                                "source.cpp", "-o", "/dev/stdout"});
  std::ofstream(program.file("source.cpp")) << "template <int N> int f() { return f<N - 1>(); }\n"
                                               "template <> int f<0>() { return 0; }\n"
                                               "int x = f<400>();\n";
  CHECK(report_in_slots(program).total("allocations") > 1'000);
}

TEST_CASE("node runs") {
  const Outcome found = run({.arguments = {"/bin/sh", "-c", "command -v node"}});
  if (found.status != 0) return;
  const TrackedProgram program({found.out.substr(0, found.out.find('\n')), "-e",
                                "console.log([1, 2, 3].map(x => x * 2).join())"});
  CHECK(report_in_slots(program).total("allocations") > 10'000);
}

TEST_CASE("a library that a pattern leaves out is not seen, and the others are") {
  const TrackedProgram program = three_libraries();
  CHECK(dump_of(program, {}).total("allocations") == 600);
  CHECK(dump_of(program, {"--hook=plt"}).total("allocations") == 600);
  const Dump without = dump_of(program, {"--hook=plt", "--not-modules=libsecond"});
  CHECK(without.total("allocations") == 400);
  CHECK(without.total("allocated_bytes") == 100 * 10 + 300 * 30);
  const Dump two = dump_of(program, {"--hook=plt", "--modules=libfirst", "--modules=libsecond"});
  CHECK(two.total("allocated_bytes") == 100 * 10 + 200 * 20);
}

TEST_CASE("a pattern without effect is told, and the program runs") {
  const TrackedProgram program = three_libraries();
  const Outcome outcome = run(program.tracked({"--hook=plt", "--modules=libfourth"}));
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "alloctap-run: pattern \"libfourth\" matches no loaded module\n");
  CHECK(program.dump().total("allocations") == 0);
}

TEST_CASE("mappings are recorded unless they are not wanted, whatever the hook") {
  const TrackedProgram program({"/usr/bin/python3", "-c", "import mmap; mmap.mmap(-1, 1 << 20)"});
  for (const char* hook : {"--hook=interpose", "--hook=plt", "--hook=inline"}) {
    CAPTURE(hook);
    CHECK(dump_of(program, {hook}).json().at("mappings").at("mappings") > 0);
    const Json mappings = dump_of(program, {hook, "--mmap=off"}).json().at("mappings");
    CHECK(mappings.at("mappings") == 0);
    CHECK(mappings.at("unmappings") == 0);
  }
}
