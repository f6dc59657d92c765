#include "alloctap/testing/found_findings.hpp"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "alloctap/runtime/reentrancy_guard.hpp"
#include "tests/support/naming_tracker.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// With one stack that is new; made unrecorded, as it will be freed.
BaselineResult failed_baseline() {
  const ReentrancyGuard guard;
  BaselineResult::Contents contents{.name = "x", .message = "not as before\nand so on"};
  contents.comparison.changes.push_back(
      {.stack = {"game  load  (int)", "?"}, .before = {}, .after = {2, 16}});
  return BaselineResult(std::move(contents));
}

/// "title: function, function".
std::string finding_line(const FindingStack& stack) {
  std::string text = stack.title + ":";
  for (const FrameText& frame : stack.frames) text += " " + frame.function + ",";
  return text;
}

}  // namespace

TEST_CASE("leaks of a snapshot are findings, most bytes first") {
  SampleReport sample;
  NamingTracker::sample = &sample;
  FoundLeaks found{.snapshot = std::move(sample.snapshot), .leaks = {}};
  const StackSummary* const deep = &found.snapshot.stacks[1];
  REQUIRE(found.leaks.stacks.push_back(deep));
  // The table stays the sample's.
  sample.snapshot.table = found.snapshot.table;
  Findings findings;
  REQUIRE(add_leaks<NamingTracker>(findings, found, {.test_suite = "s", .test_case = "c"}).ok());
  REQUIRE(findings.all.size() == 1);
  CHECK(findings.all[0].message == "40960 bytes in 10 blocks leaked");
  CHECK(findings.all[0].test_suite == "s");
  CHECK(findings.all[0].test_case == "c");
  CHECK(findings.all[0].bytes == 40960);
  CHECK(finding_line(findings.all[0].stacks[0]) ==
        "allocated by: engine::load(char const*), engine::parse, main,");
}

TEST_CASE("leaks of a test case are findings") {
  Findings findings;
  add_leaks(findings,
            LeakedCase{.name = "writes", .stacks = {{2, 64, "again", {{.function = "f"}}}}}, "io");
  REQUIRE(findings.all.size() == 1);
  CHECK(findings.all[0].message ==
        "64 bytes in 2 blocks leaked each time it runs, allocated in \"again\"");
  CHECK(findings.all[0].test_case == "writes");
  CHECK(finding_line(findings.all[0].stacks[0]) == "allocated by: f,");
}

TEST_CASE("faults that no rule suppresses are findings with all their stacks") {
  SampleReport sample;
  NamingTracker::sample = &sample;
  sample.add_misuses();
  SortedMisuses sorted;
  for (std::size_t i = 0; i < sample.snapshot.misuses.size(); ++i) {
    const bool is_shown = i == 0 || i == 1;
    REQUIRE(sorted.rule_of_fault.push_back(is_shown ? Suppressions::kNoRule : 0));
  }
  Findings findings;
  REQUIRE(add_misuses<NamingTracker>(findings, sample.snapshot, sorted).ok());
  REQUIRE(findings.all.size() == 2);
  const Finding& twice = findings.all[0];
  CHECK(twice.message == "double free: a block of 24 bytes");
  CHECK(twice.count == 2);
  REQUIRE(twice.stacks.size() == 3);
  CHECK(finding_line(twice.stacks[0]) == "found in: engine::parse, main,");
  CHECK(finding_line(twice.stacks[1]) == "freed by: engine::parse, main,");
  CHECK(finding_line(twice.stacks[2]) ==
        "allocated by: engine::load(char const*), engine::parse, main,");
  CHECK(findings.all[1].stacks.size() == 1);
}

TEST_CASE("offences against budgets are findings with their tag's path and stack") {
  TaggedReport sample;
  NamingTracker::sample = &sample;
  for (const TagId tag : {sample.physics, kNoTag}) {
    REQUIRE(sample.snapshot.frames.offences.push_back({.tag = tag,
                                                       .kind = BudgetKind::kBytesPerFrame,
                                                       .limit = 100,
                                                       .value = 120,
                                                       .stack = sample.snapshot.stacks[1].stack,
                                                       .frame = 7}));
  }
  Findings findings;
  REQUIRE(add_budgets<NamingTracker>(findings, sample.snapshot, {.test_case = "c"}).ok());
  REQUIRE(findings.all.size() == 2);
  CHECK(findings.all[0].kind == FindingKind::kBudget);
  CHECK(findings.all[0].message ==
        "bytes_per_frame of 120 in frame 7, where \"Game/Physics\" may have 100");
  CHECK(finding_line(findings.all[0].stacks[0]) ==
        "allocated by: engine::load(char const*), engine::parse, main,");
  CHECK(findings.all[1].message ==
        "bytes_per_frame of 120 in frame 7, where \"the whole program\" may have 100");
}

TEST_CASE("offences in scopes are findings, with the stack that allocated what was freed") {
  TaggedReport sample;
  NamingTracker::sample = &sample;
  static ScopeOffences offences;
  ScopeNode scope;
  scope.name = "step";
  scope.stacks.add(sample.snapshot.stacks[1].stack, {.allocations = 0, .bytes = 0, .frees = 1});
  offences.add(scope);
  Findings findings;
  REQUIRE(add_offences<NamingTracker>(findings, offences, {.test_case = "c"}).ok());
  REQUIRE(findings.all.size() == 1);
  CHECK(findings.all[0].message ==
        "0 allocations of 0 bytes and 1 free in \"step\", which forbids them");
  CHECK(finding_line(findings.all[0].stacks[0]) ==
        "allocated by: engine::load(char const*), engine::parse, main,");
}

TEST_CASE("a baseline that failed is one finding with the stacks that changed") {
  Findings findings;
  add_baseline(findings, BaselineResult({.passed = true}));
  CHECK(findings.all.empty());
  add_baseline(findings, failed_baseline(), {.test_case = "c"});
  REQUIRE(findings.all.size() == 1);
  CHECK(findings.all[0].message == "not as before");
  REQUIRE(findings.all[0].stacks.size() == 1);
  CHECK(finding_line(findings.all[0].stacks[0]) == "new: 2 allocations, 16 bytes: load  (int), ,");
  CHECK(findings.all[0].stacks[0].frames[0].module == "game");
}
