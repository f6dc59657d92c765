// What alloctap-run --guard-pages sees, and that nothing else changes.
#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;

using Words = std::vector<std::string>;

constexpr const char* kProgram = ALLOCTAP_PROGRAMS "refused_accesses";

TrackedProgram accessing(const std::string& family, const std::string& access,
                         const std::string& offset, const Words& handler = {}) {
  Words words{kProgram, family, access, offset};
  words.insert(words.end(), handler.begin(), handler.end());
  return TrackedProgram(words);
}

/// The one fault that a program's report tells of.
Json fault_in(const TrackedProgram& program) {
  const Dump dump = program.dump();
  check_report(dump);
  const Json& faults = dump.json().at("misuses").at("faults");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at("access").at("function").is_null());
  CHECK(faults[0].at("access").at("address") == faults[0].at("address"));
  CHECK(faults[0].at("access").at("writes") ==
        faults[0].at("kind").get<std::string>().starts_with("write"));
  CHECK(faults[0].at("call").is_null());
  CHECK(faults[0].at("changed").is_null());
  return faults[0];
}

/// That of a program which dies of it, as it would have without.
Json fatal_fault_of(const TrackedProgram& program, const Words& options) {
  const Outcome outcome = run(program.tracked(options));
  CHECK(outcome.signal() == SIGSEGV);
  CHECK(outcome.out == "");
  return fault_in(program);
}

/// Whether a function of that name is among `frames` of the program's report.
bool passes_through(const Dump& dump, const Json& frames, const std::string& function) {
  for (const Json& frame : frames) {
    const Json& name = dump.json().at("frames")[frame.get<std::size_t>()].at("function");
    if (name.is_string() && name.get<std::string>().find(function) != std::string::npos) {
      return true;
    }
  }
  return false;
}

std::int64_t offset_of(const Json& fault) {
  return fault.at("address").get<std::int64_t>() -
         fault.at("block").at("address").get<std::int64_t>();
}

const Words kAll{"--guard-pages=all"};

}  // namespace

TEST_CASE("an access behind a block, before it or after its end stops there, however it came") {
  for (const char* family :
       {"malloc", "calloc", "realloc", "reallocarray", "strdup", "strndup", "aligned_alloc",
        "memalign", "posix_memalign", "new", "new[]", "nothrow_new", "aligned_new"}) {
    for (const std::string access : {"read", "write"}) {
      CAPTURE(family);
      CAPTURE(access);
      const Json behind = fatal_fault_of(accessing(family, access, "32"), kAll);
      CHECK(behind.at("kind") == access + "_behind");
      CHECK(offset_of(behind) == 32);
      const Json before =
          fatal_fault_of(accessing(family, access, "-1"), {"--guard-pages=all,left"});
      CHECK(before.at("kind") == access + "_before");
      CHECK(offset_of(before) == -1);
      const Json late = fatal_fault_of(accessing(family, access, "freed"), kAll);
      CHECK(late.at("kind") == access + "_after_free");
      CHECK(offset_of(late) == 0);
    }
  }
}

TEST_CASE("an access that is further away is told with the block that is nearest") {
  CHECK(offset_of(fatal_fault_of(accessing("malloc", "read", "64"), kAll)) == 64);
  CHECK(offset_of(fatal_fault_of(accessing("malloc", "write", "4128"), kAll)) == 4128);
  CHECK(offset_of(fatal_fault_of(accessing("malloc", "read", "-32"), {"--guard-pages=all,left"})) ==
        -32);
  CHECK(offset_of(fatal_fault_of(accessing("malloc", "write", "-4096"),
                                 {"--guard-pages=all,left"})) == -4096);
}

TEST_CASE("a refused access is told with the calls that made it, and had and freed the block") {
  const TrackedProgram program = accessing("malloc", "read", "freed");
  const Json fault = fatal_fault_of(program, kAll);
  const Dump dump = program.dump();
  CHECK(passes_through(dump, fault.at("found").at("frames"), "misuse"));
  CHECK(passes_through(dump, fault.at("block").at("allocated").at("frames"), "get_block"));
  CHECK(passes_through(dump, fault.at("block").at("freed").at("frames"), "give_back"));
  CHECK(fault.at("block").at("size") == 32);
  const Json& innermost = fault.at("found").at("frames")[0];
  CHECK(passes_through(dump, Json::array({innermost}), "access"));
}

TEST_CASE("standard error gets a line at once") {
  const Outcome outcome = run(accessing("malloc", "read", "32").tracked(kAll));
  // An emulator adds a line of its own.
  CHECK(outcome.err.starts_with("alloctap-run: read behind a block; the report tells of it\n"));
}

TEST_CASE("a handler of the program's own has its turn, and is the one that is shown") {
  for (const std::string handler : {"plain", "signal", "once", "informed"}) {
    CAPTURE(handler);
    const TrackedProgram program = accessing("malloc", "write", "32", {handler});
    const Outcome outcome = run(program.tracked(kAll));
    CHECK(outcome.exit_code() == 7);
    CHECK(outcome.out == (handler == "informed" ? "handled there\n" : "handled\n"));
    CHECK(fault_in(program).at("kind") == "write_behind");
  }
}

TEST_CASE("a program that leaves its handler by a jump goes on") {
  const TrackedProgram program = accessing("malloc", "read", "32", {"jumps"});
  const Outcome outcome = run(program.tracked(kAll));
  CHECK(outcome.exit_code() == 3);
  CHECK(outcome.out == "done\n");
  CHECK(fault_in(program).at("kind") == "read_behind");
}

TEST_CASE("a program that is to outlive its faults does") {
  for (const char* offset : {"32", "freed"}) {
    CAPTURE(offset);
    const TrackedProgram program = accessing("malloc", "write", offset);
    const Outcome outcome = run(
        program.tracked({"--guard-pages=all", "--checks=outlive_faults", "--error-exitcode=9"}));
    CHECK(outcome.exit_code() == 9);
    CHECK(outcome.out == "done\n");
    CHECK(fault_in(program).at("block").at("size") == 32);
  }
}

TEST_CASE("other checks look after blocks beside inaccessible pages, too") {
  const TrackedProgram twice({ALLOCTAP_PROGRAMS "misuses", "double_free"});
  CHECK(run(twice.tracked({"--guard-pages=all"})).exit_code() == 3);
  CHECK(twice.dump().json().at("misuses").at("faults")[0].at("kind") == "double_free");
  const TrackedProgram mixed({ALLOCTAP_PROGRAMS "misuses", "mismatched_release"});
  CHECK(run(mixed.tracked({"--guard-pages=all", "--checks=level10"})).exit_code() == 3);
  CHECK(mixed.dump().json().at("misuses").at("faults")[0].at("kind") == "mismatched_release");
  // 24 bytes end 8 before the page does: what is written there is found when the block goes.
  const TrackedProgram near({ALLOCTAP_PROGRAMS "misuses", "write_behind"});
  CHECK(run(near.tracked({"--guard-pages=all"})).exit_code() == 3);
  const Dump dump = near.dump();
  const Json& fault = dump.json().at("misuses").at("faults")[0];
  CHECK(fault.at("kind") == "write_behind");
  CHECK(fault.at("access").is_null());
  CHECK(fault.at("changed").at("first") == 24);
}

TEST_CASE("where there is no room blocks are as they would be, and the report counts them") {
  SUBCASE("more blocks than there is room for") {
    const TrackedProgram program({kProgram, "live", "200000"});
    const Outcome outcome = run(program.tracked(kAll));
    CHECK(outcome.out == "done\n");
    CHECK(outcome.exit_code() == 3);
    const Json guards = program.dump().json().at("misuses").at("guard_pages");
    CHECK(guards.at("placed").get<int>() > 1000);
    CHECK(guards.at("fell_back").get<int>() > 0);
    CHECK(guards.at("placed").get<int>() + guards.at("fell_back").get<int>() >= 200000);
  }
  SUBCASE("no address space for more than a few") {
    const TrackedProgram program({kProgram, "live", "3000"});
    Command command = program.tracked(kAll);
    command.arguments.insert(command.arguments.begin(),
                             {"/bin/sh", "-c", "ulimit -v 400000; exec \"$@\"", "sh"});
    const Outcome outcome = run(command);
    CHECK(outcome.out == "done\n");
    CHECK(outcome.exit_code() == 3);
    const Json guards = program.dump().json().at("misuses").at("guard_pages");
    CHECK(guards.at("placed").get<int>() > 100);
    CHECK(guards.at("fell_back").get<int>() > 100);
  }
  SUBCASE("a sample has a bound") {
    const TrackedProgram program({kProgram, "live", "40000"});
    CHECK(run(program.tracked({"--guard-pages=1/2"})).exit_code() == 3);
    const Json guards = program.dump().json().at("misuses").at("guard_pages");
    CHECK(guards.at("one_in") == 2);
    CHECK(guards.at("placed").get<int>() >= 1024);
    CHECK(guards.at("fell_back").get<int>() + guards.at("passed_over").get<int>() > 10000);
  }
}

TEST_CASE("a child that is not followed dies of its fault alone") {
  const TrackedProgram program({kProgram, "fork"});
  const Outcome outcome = run(program.tracked(kAll));
  CHECK(outcome.exit_code() == 3);
  CHECK(outcome.out == "child died\ndone\n");
  CHECK(program.dump().json().at("misuses").at("faults").empty());
}

TEST_CASE("all but what is asked for is as it is without") {
  const TrackedProgram program = accessing("malloc", "read", "0");
  for (const char* choice : {"all", "all,left", "all,random", "1/1", "1/3,random"}) {
    CAPTURE(choice);
    const std::string option = std::string("--guard-pages=") + choice;
    const Dump dump = report_of_unchanged(program, {option});
    CHECK(dump.json().at("misuses").at("faults").empty());
    CHECK(dump.json().at("misuses").at("guard_pages").at("fell_back") == 0);
  }
}
