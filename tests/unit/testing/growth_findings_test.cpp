#include "alloctap/testing/growth_findings.hpp"

#include <doctest/doctest.h>

#include <span>
#include <string>

#include "alloctap/status.hpp"
#include "tests/support/naming_tracker.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

ArenaArray<SoakSuspect> suspects_of(StackId stack) {
  ArenaArray<SoakSuspect> suspects;
  REQUIRE(suspects.push_back({.stack = stack,
                              .confidence = 0.995,
                              .bytes_per_mark = 100.46,
                              .first_bytes = 64,
                              .last_bytes = 5089,
                              .marks = 50}));
  return suspects;
}

}  // namespace

TEST_CASE("a stack that leaks slowly is a finding with its pace") {
  const SampleReport sample;
  NamingTracker::sample = &sample;
  const ArenaArray<SoakSuspect> suspects = suspects_of(sample.snapshot.stacks[1].stack);
  Findings findings;
  REQUIRE(add_growth<NamingTracker>(findings, suspects, {.test_case = "soak"}).ok());
  REQUIRE(findings.all.size() == 1);
  const Finding& finding = findings.all[0];
  CHECK(rule_id(finding) == "growth");
  CHECK(finding.level == FindingLevel::kError);
  CHECK(finding.message ==
        "grows by 100.5 bytes with each mark: from 64 to 5089 bytes in 50 marks");
  CHECK(finding.test_case == "soak");
  CHECK(finding.count == 50);
  CHECK(finding.bytes == 5025);
  REQUIRE(finding.stacks.size() == 1);
  CHECK(finding.stacks[0].title == "allocated by");
  REQUIRE(finding.stacks[0].frames.size() == 3);
  CHECK(finding.stacks[0].frames[0].function == "engine::load(char const*)");
}

TEST_CASE("where room should be reserved is a note") {
  const SampleReport sample;
  NamingTracker::sample = &sample;
  ArenaArray<GrowthAdvice> advice;
  REQUIRE(advice.push_back(
      {.stack = sample.snapshot.stacks[1].stack,
       .sums = {.chains = 2, .steps = 20, .bytes_copied = 8184, .largest_bytes = 4096}}));
  Findings findings;
  REQUIRE(add_growth<NamingTracker>(findings, advice).ok());
  REQUIRE(findings.all.size() == 1);
  const Finding& finding = findings.all[0];
  CHECK(rule_id(finding) == "reserve");
  CHECK(finding.level == FindingLevel::kNote);
  CHECK(finding.message ==
        "reserve(4096 bytes) would save 20 growths and 8184 bytes copied in 2 blocks");
  CHECK(finding.count == 20);
  CHECK(finding.bytes == 8184);
  CHECK(finding.stacks[0].frames.size() == 3);
}

TEST_CASE("growth whose stacks have no names for want of memory is no finding but a reason") {
  NamingTracker::sample = nullptr;
  const ArenaArray<SoakSuspect> suspects = suspects_of(kFirstStack);
  Findings findings;
  const alloctap::Status status = add_growth<NamingTracker>(findings, suspects);
  CHECK(status.message() == "no memory for names");
  CHECK(findings.all.empty());
}
