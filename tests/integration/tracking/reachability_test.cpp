// Which blocks of real programs are found unreachable.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/support/file_text.hpp"
#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
using Options = std::vector<std::string>;

/// Holds blocks in `keep_...` and loses others in `lose_...`.
struct ReachabilityProgram : TrackedProgram {
  ReachabilityProgram()
      : TrackedProgram({ALLOCTAP_PROGRAMS "reachability", ALLOCTAP_REACHABILITY_PLUGIN}) {}

  Dump run_with(const Options& options) const {
    const Outcome outcome = run(tracked(options));
    CHECK(outcome.exit_code() == 0);
    CHECK(outcome.err == "");
    return dump();
  }
};

struct Lost {
  std::uint64_t blocks = 0;
  std::uint64_t definite = 0;
  std::uint64_t indirect = 0;

  bool operator==(const Lost&) const = default;
};

/// What the functions with that beginning allocated, by their names.
std::map<std::string, Lost> lost_by_function(const Dump& dump, const std::string& beginning) {
  std::map<std::string, Lost> lost;
  for (const Json& stack : dump.json().at("stacks")) {
    for (std::string name : dump.functions(stack)) {
      name.erase(0, name.rfind(':') + 1);
      if (!name.starts_with(beginning)) continue;
      Lost& sum = lost[name];
      const Json& found = stack.at("unreachable");
      sum.blocks += stack.at("live_allocations").get<std::uint64_t>();
      sum.definite += found.at("definite_allocations").get<std::uint64_t>();
      sum.indirect += found.at("indirect_allocations").get<std::uint64_t>();
      break;
    }
  }
  return lost;
}

void check_kept(const Dump& dump) {
  const auto kept = lost_by_function(dump, "keep_");
  for (const char* function :
       {"keep_in_global", "keep_in_static", "keep_in_protected_page", "keep_in_thread_variable",
        "keep_inside", "keep_empty", "keep_chain", "keep_in_mapping", "keep_in_shared_mapping",
        "keep_in_unforked_page", "keep_in_wiped_page", "keep_in_unforked_block",
        "keep_in_hidden_page", "keep_in_hidden_block", "keep_in_key", "keep_on_stack",
        "keep_in_plugin_variable", "keep_in_plugin_thread_variable"}) {
    CAPTURE(function);
    REQUIRE(kept.contains(function));
    CHECK(kept.at(function).blocks > 0);
  }
  for (const auto& [function, lost] : kept) {
    CAPTURE(function);
    CHECK(lost.definite == 0);
    CHECK(lost.indirect == 0);
  }
}

void check_lost(const Dump& dump) {
  const std::map<std::string, Lost> expected{
      {"lose_behind_end", {1, 1, 0}}, {"lose_block", {1, 1, 0}}, {"lose_circle", {2, 1, 1}},
      {"lose_empty", {1, 1, 0}},      {"lose_head", {1, 1, 0}},  {"lose_hidden", {1, 1, 0}},
      {"lose_in_freed", {1, 1, 0}},   {"lose_tail", {1, 0, 1}},  {"lose_tree", {1, 1, 0}},
  };
  const auto lost = lost_by_function(dump, "lose_");
  for (const auto& [function, wanted] : expected) {
    CAPTURE(function);
    REQUIRE(lost.contains(function));
    CHECK(lost.at(function).blocks == wanted.blocks);
    CHECK(lost.at(function).definite == wanted.definite);
    CHECK(lost.at(function).indirect == wanted.indirect);
  }
  CHECK(lost.size() == expected.size());
  const Json& leaks = dump.json().at("leaks");
  CHECK(leaks.at("live_allocations") == 10);
  CHECK(leaks.at("unreachable").at("definite").at("live_allocations") == 8);
  CHECK(leaks.at("unreachable").at("indirect").at("live_allocations") == 2);
}

void scan_hammers(const Options& more) {
  constexpr int kReports = 8;
  const TrackedProgram program({ALLOCTAP_PROGRAMS "hammers", std::to_string(kReports)});
  Options options{"--leaks=unreachable", "--signal=USR1", "--max-frames=8"};
  options.insert(options.end(), more.begin(), more.end());
  const Outcome outcome =
      run(program.tracked_to("json=" + program.file("report.%n.json"), options));
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  for (int i = 1; i <= kReports; ++i) {
    CAPTURE(i);
    const Dump dump(program.file("report." + std::to_string(i) + ".json"));
    const Json& leaks = dump.json().at("leaks");
    REQUIRE(leaks.at("unreachable").is_object());
    CHECK(leaks.at("unreachable").at("unseen_threads") == 0);
    CHECK(leaks.at("live_allocations") == 0);
  }
}

}  // namespace

TEST_CASE("what a program can still get at is no leak, wherever it keeps the pointer") {
  const ReachabilityProgram program;
  const Dump dump = program.run_with({"--leaks=unreachable"});
  check_report(dump);
  check_kept(dump);
#if defined(__x86_64__)
  CHECK(lost_by_function(dump, "keep_in_register").at("keep_in_register") == Lost{2, 0, 0});
#endif
  const Json& scan = dump.json().at("leaks").at("unreachable");
  CHECK(scan.at("unread_bytes") == 0);
  CHECK(scan.at("stopped_ns") <= scan.at("scan_ns"));
}

TEST_CASE("what a program cannot get at any more is a leak, definitely or indirectly") {
  const ReachabilityProgram program;
  check_lost(program.run_with({"--leaks=unreachable"}));
}

TEST_CASE("checks of blocks and guards beside them change nothing of it") {
  for (const char* checks : {"--checks=level10", "--guard-pages=all", "--guard-pages=all,left"}) {
    CAPTURE(checks);
    const ReachabilityProgram program;
    const Dump dump = program.run_with({"--leaks=unreachable", checks});
    check_kept(dump);
    check_lost(dump);
  }
}

TEST_CASE("what the program left on its stack before it called the tracker keeps no block") {
  for (const char* way : {"return", "exit", "_exit", "quick_exit", "thread", "result"}) {
    for (const char* checks :
         {"--leaks=unreachable", "--checks=level10", "--guard-pages=all", "--hook=plt"}) {
      CAPTURE(way);
      CAPTURE(checks);
      const TrackedProgram program({ALLOCTAP_PROGRAMS "loses_on_stacks", way});
      const Outcome outcome = run(program.tracked({"--leaks=unreachable", checks}));
      CHECK(outcome.exit_code() == 0);
      CHECK(program.dump().json().at("leaks").at("live_allocations") == 1);
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("what a signal interrupts keeps its blocks, and what lies below it on the stack none") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "loses_on_stacks", "signal"});
  const Outcome outcome = run(program.tracked({"--leaks=unreachable"}));
  CHECK(outcome.signal() == SIGTERM);
  const Dump dump = program.dump();
  const Json& leaks = dump.json().at("leaks");
  CHECK(leaks.at("live_allocations") == 1);
  CHECK(leaks.at("live_bytes") == 100);
}
#endif

TEST_CASE("leaks that no rule names choose the code that the program ends with") {
  const ReachabilityProgram program;
  const auto code = [&program](Options options) {
    options.push_back("--error-exitcode=23");
    return run(program.tracked(options)).exit_code();
  };
  std::ofstream(program.file("some")) << "leak:lose_tree\n";
  std::ofstream(program.file("all")) << "leak:lose_\n";
  CHECK(code({"--leaks=unreachable"}) == 23);
  CHECK(code({"--leaks=unreachable", "--suppressions=" + program.file("some")}) == 23);
  CHECK(code({"--leaks=unreachable", "--suppressions=" + program.file("all")}) == 0);
  CHECK(code({"--suppressions=" + program.file("all")}) == 23);
  CHECK(code({"--checks=level10"}) == 0);
}

TEST_CASE("nothing that is kept is a leak where other hooks see less") {
  for (const Options& options :
       {Options{"--leaks=unreachable", "--hook=plt"}, Options{"--leaks=unreachable", "--mmap=off"},
        Options{"--leaks=unreachable", "--events=1M"}}) {
    CAPTURE(options.back());
    const ReachabilityProgram program;
    check_kept(program.run_with(options));
  }
}

TEST_CASE("unreachable blocks are suppressed as others are") {
  const ReachabilityProgram program;
  std::ofstream(program.file("rules")) << "leak:lose_tree\nleak:keep_in_global\n";
  const Dump dump =
      program.run_with({"--leaks=unreachable", "--suppressions=" + program.file("rules")});
  const Json& leaks = dump.json().at("leaks");
  CHECK(leaks.at("live_allocations") == 8);
  CHECK(leaks.at("suppressed").at("live_allocations") == 2);
  CHECK(leaks.at("unreachable").at("indirect").at("live_allocations") == 1);
  CHECK(leaks.at("rules")[0].at("live_bytes") == 104);
  CHECK(leaks.at("rules")[1].at("stacks") == 0);
}

TEST_CASE("all that is live is a leak where that is asked for") {
  const ReachabilityProgram program;
  const Dump dump = program.run_with({"--leaks=live"});
  const Json& leaks = dump.json().at("leaks");
  CHECK(leaks.at("unreachable").is_null());
  CHECK(leaks.at("live_allocations") == dump.total("live_allocations"));
  for (const Json& stack : dump.json().at("stacks")) CHECK(stack.at("unreachable").is_null());
}

TEST_CASE("the text shows unreachable blocks in two lists") {
  const ReachabilityProgram program;
  const Outcome outcome =
      run(program.tracked_to("text=" + program.file("report"), {"--leaks=unreachable"}));
  CHECK(outcome.exit_code() == 0);
  const std::string report = file_text(program.file("report"));
  CAPTURE(report);
  const std::size_t definite = report.find("\nStacks with blocks that are definitely lost");
  const std::size_t indirect = report.find("\nStacks with blocks that are lost with others");
  CHECK(definite < indirect);
  CHECK(indirect != report.npos);
  CHECK(report.find("lose_tail(") > indirect);
  CHECK(report.find("keep_in_global") == report.npos);
}

TEST_CASE("threads that allocate, move and fork are scanned, again and again, and lose nothing") {
  scan_hammers({});
}

TEST_CASE("nothing is found in blocks that many threads have checked and forked, either") {
  scan_hammers({"--checks=level10"});
}
