// What alloctap-run --checks finds, and that it finds nothing where nothing is.
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;

TrackedProgram misusing(const std::string& name) {
  return TrackedProgram({ALLOCTAP_PROGRAMS "misuses", name});
}

/// The one fault that a program is found to have made.
Json fault_of(const TrackedProgram& program, const std::vector<std::string>& options) {
  const Outcome outcome = run(program.tracked(options));
  CHECK(outcome.out == "done\n");
  CHECK(outcome.exit_code() == 3);
  const Dump dump = program.dump();
  check_report(dump);
  const Json& faults = dump.json().at("misuses").at("faults");
  REQUIRE(faults.size() == 1);
  return faults[0];
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

/// A program that is checked as far as can be: nothing is found, and nothing else changes.
void check_sound(const TrackedProgram& program) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--checks=level10"},
                                                  {"--guard-pages=1/100"},
                                                  {"--checks=level10", "--string-checks"}}) {
    CAPTURE(options.back());
    const Dump dump = report_of_unchanged(program, options);
    CHECK(dump.json().at("misuses").at("faults") == Json::array());
    CHECK(dump.json().at("misuses").at("left_out") == 0);
    CHECK_FALSE(dump.json().at("misuses").at("checks").empty());
  }
}

}  // namespace

TEST_CASE("each misuse is found, by its name, and the program goes on") {
  for (const char* name : {"double_free", "write_behind", "write_before", "mismatched_release",
                           "interior_pointer", "unknown_pointer", "write_after_free"}) {
    CAPTURE(name);
    const TrackedProgram program = misusing(name);
    const Json fault = fault_of(program, {"--checks=level10"});
    CHECK(fault.at("kind") == name);
    CHECK(fault.at("times") == 1);
  }
}

TEST_CASE("pages that the program protected, unmapped, replaced or discarded are left alone") {
  for (const char* name : {"sealed", "sealed_in_part", "sealed_beyond", "sealed_for_ever",
                           "sealed_by_key", "sealed_and_kept", "sealed_and_grown", "barriers",
                           "unmapped", "replaced", "moved_over", "discarded"}) {
    CAPTURE(name);
    const TrackedProgram program({ALLOCTAP_PROGRAMS "changed_pages", name});
    check_sound(program);
    for (const char* option : {"--checks=front_guard", "--checks=rear_guard",
                               "--checks=fill_on_free", "--guard-pages=all"}) {
      CAPTURE(option);
      const Dump dump = report_of_unchanged(program, {option});
      CHECK(dump.json().at("misuses").at("faults") == Json::array());
    }
  }
}

TEST_CASE("a block that was protected for a while is looked after as any other") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "changed_pages", "overrun_after_barrier"});
  const Outcome outcome = run(program.tracked({"--checks=level10"}));
  CHECK(outcome.out == "done\n");
  const Json faults = program.dump().json().at("misuses").at("faults");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at("kind") == "write_behind");
}

TEST_CASE("checks bring in no memory that the program did not touch") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "untouched"});
  for (const char* checks : {"level10", "fill", "free_track", "level10,fill_on_alloc"}) {
    CAPTURE(checks);
    report_of_unchanged(program, {std::string("--checks=") + checks});
  }
}

TEST_CASE("a fault is told with the calls that made, had and freed the block") {
  const TrackedProgram program = misusing("double_free");
  const Json fault = fault_of(program, {"--checks=verify_kinds"});
  const Dump dump = program.dump();
  CHECK(passes_through(dump, fault.at("found").at("frames"), "give_back"));
  CHECK(passes_through(dump, fault.at("block").at("allocated").at("frames"), "get_block"));
  CHECK(passes_through(dump, fault.at("block").at("freed").at("frames"), "give_back"));
  CHECK(fault.at("block").at("size") == 24);
}

TEST_CASE("what is written beside a block that is never freed is found at the end") {
  const TrackedProgram program = misusing("write_behind_and_kept");
  const Json fault = fault_of(program, {"--checks=rear_guard"});
  CHECK(fault.at("kind") == "write_behind");
  CHECK(fault.at("call").is_null());
  CHECK(fault.at("changed").at("first") == 24);
}

TEST_CASE("a fault that is made again is told once and counted") {
  const TrackedProgram program = misusing("many_times");
  CHECK(fault_of(program, {"--checks=guard"}).at("times") == 10);
}

TEST_CASE("only what was asked for is looked for") {
  // There is room for what is written.
  const TrackedProgram program = misusing("write_behind");
  const Outcome outcome = run(program.tracked({"--checks=front_guard,expand_alloc,verify_kinds"}));
  CHECK(outcome.exit_code() == 3);
  CHECK(outcome.err == "");
  const Json misuses = program.dump().json().at("misuses");
  CHECK(misuses.at("faults").empty());
  CHECK(misuses.at("checks") == Json({"front_guard=32", "expand_alloc=16", "verify_kinds"}));
}

TEST_CASE("standard error gets a line at once, and the exit code tells where it is asked for") {
  const TrackedProgram bad = misusing("write_behind");
  const Outcome found = run(bad.tracked({"--checks=guard", "--error-exitcode=77"}));
  CHECK(found.exit_code() == 77);
  CHECK(found.out == "done\n");
  CHECK(found.err == "alloctap-run: write behind a block; the report tells of it\n");
  const TrackedProgram good = misusing("nothing");
  const Outcome sound = run(good.tracked({"--checks=level10", "--error-exitcode=77"}));
  CHECK(sound.exit_code() == 3);
  CHECK(sound.err == "");
}

TEST_CASE("rules name faults that are expected: no line tells of them, nor does the exit code") {
  const TrackedProgram program = misusing("double_free");
  const auto outcome_with = [&](const std::string& rules) {
    std::ofstream(program.file("rules")) << rules;
    return run(program.tracked(
        {"--checks=level10", "--error-exitcode=77", "--suppressions=" + program.file("rules")}));
  };
  const Outcome expected = outcome_with("double_free:/misuses$\nwrite_behind:main\n");
  CHECK(expected.exit_code() == 3);
  CHECK(expected.err == "");
  const Dump dump = program.dump();
  check_report(dump);
  const Json& misuses = dump.json().at("misuses");
  CHECK(misuses.at("faults")[0].at("suppressed_by") == 0);
  CHECK(misuses.at("suppressed").at("ways") == 1);
  CHECK(misuses.at("rules")[0].at("subject") == "double_free");
  CHECK(misuses.at("rules")[0].at("times") == 1);
  CHECK(misuses.at("rules")[1].at("ways") == 0);
  CHECK(dump.json().at("leaks").is_null());
  CHECK(outcome_with("write_behind:/misuses$\n").exit_code() == 77);
  CHECK(outcome_with("only-misuse:somebody_else\n").exit_code() == 3);
  CHECK(outcome_with("only-misuse:/misuses$\n").exit_code() == 77);
  CHECK(program.dump().json().at("misuses").at("faults")[0].at("suppressed_by").is_null());
}

TEST_CASE("a program that is to end at faults of some kinds goes on after others") {
  const TrackedProgram program = misusing("double_free");
  CHECK(run(program.tracked({"--checks=level10 abort_on_error=write_behind"})).exit_code() == 3);
  CHECK(run(program.tracked({"--checks=level10 abort_on_error=wrong_size+double_free"})).signal() ==
        SIGABRT);
}

TEST_CASE("a program that is to end at its first fault leaves a report of it") {
  const TrackedProgram program = misusing("double_free");
  const Outcome outcome = run(program.tracked({"--checks=level10 abort_on_error"}));
  CHECK(outcome.signal() == SIGABRT);
  CHECK(outcome.out == "");
  const Dump dump = program.dump();
  REQUIRE(dump.json().at("misuses").at("faults").size() == 1);
  CHECK(dump.json().at("misuses").at("faults")[0].at("kind") == "double_free");
}

TEST_CASE("what functions of strings are given is looked at where that is asked for") {
  const TrackedProgram program = misusing("string_read_behind");
  const Json fault = fault_of(program, {"--string-checks"});
  CHECK(fault.at("kind") == "read_behind");
  CHECK(fault.at("call").is_null());
  CHECK(fault.at("access").at("function") == "strlen");
  CHECK(fault.at("access").at("bytes") == 25);
  CHECK(passes_through(program.dump(), fault.at("found").at("frames"), "length_of"));
  const Outcome unasked = run(program.tracked({"--checks=level10"}));
  CHECK(unasked.err == "");
}

TEST_CASE("programs that nobody here wrote are found to be sound, and do not notice") {
  SUBCASE("sqlite3") {
    check_sound(TrackedProgram(
        {"/usr/bin/sqlite3", ":memory:",
         "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where "
         "x<5000) insert into t select x, 'text ' || x from c; create index i on t(b); select "
         "count(*), sum(a) from t where b like '%7%'"}));
  }
  SUBCASE("python3") {
    check_sound(TrackedProgram(
        {"/usr/bin/python3", "-c",
         "import json, re, threading\n"
         "text = json.dumps([{'a': i, 'b': str(i)} for i in range(3000)])\n"
         "print(len(json.loads(text)), len(re.findall('[0-9]', text)))\n"
         "threads = [threading.Thread(target=lambda: [bytearray(900) for _ in range(99)])\n"
         "           for _ in range(4)]\n"
         "[t.start() for t in threads]; [t.join() for t in threads]"}));
  }
  SUBCASE("perl") {
    check_sound(TrackedProgram({"/usr/bin/perl", "-e",
                                "my %h; $h{\"k$_\"} = [$_, 'v' x ($_ % 50)] for 1 .. 5000;"
                                "print join(',', (sort keys %h)[0 .. 9]), \"\\n\""}));
  }
  SUBCASE("git") { check_sound(TrackedProgram({"/usr/bin/git", "init", "--quiet", "."})); }
  SUBCASE("g++") {
    const TrackedProgram program({"/usr/bin/g++", "-fsyntax-only", "-v", "empty.cpp"});
    std::ofstream(program.file("empty.cpp")) << "int x;\n";
    check_sound(program);
  }
  SUBCASE("node") {
    check_sound(
        TrackedProgram({"/usr/bin/node", "-e",
                        "console.log(require('zlib').gzipSync(Buffer.alloc(1e5)).length)"}));
  }
  SUBCASE("xmllint") {
    const TrackedProgram program({"/usr/bin/xmllint", "--format", "list.xml"});
    std::ofstream(program.file("list.xml")) << "<list><item id='1'>&lt;</item><item/></list>";
    check_sound(program);
  }
}
