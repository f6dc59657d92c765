#include "alloctap/snapshot/sorted_misuses.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::SampleReport;

// The faults of the sample, by position.
constexpr std::size_t kTwice = 0;
constexpr std::size_t kSwept = 1;

struct MisuseSample : SampleReport {
  MisuseSample() { add_misuses(); }

  SortedMisuses sorted(std::string_view rules) {
    suppressions = {};
    REQUIRE(suppressions.add(rules, "rules").ok());
    const Report current = report();
    alloctap::Result<SortedMisuses> found =
        sort_misuses(snapshot, suppressions, FrameList(current));
    REQUIRE(found.ok());
    REQUIRE(found->rule_of_fault.size() == snapshot.misuses.size());
    return *std::move(found);
  }

  Suppressions suppressions;
};

}  // namespace

TEST_CASE("without rules all faults are reported") {
  MisuseSample sample;
  const SortedMisuses sorted = sample.sorted("leak:main");
  CHECK(sorted.reported.ways == 5);
  CHECK(sorted.reported.times == 8);
  CHECK(sorted.suppressed.ways == 0);
  CHECK(sorted.rules.empty());
  for (const std::uint32_t rule : sorted.rule_of_fault) CHECK(rule == Suppressions::kNoRule);
}

TEST_CASE("a fault is named by its kind and by a frame of any of its stacks") {
  MisuseSample sample;
  // It allocated the block of the double free, and is not in the other two stacks.
  for (const char* rule :
       {"double_free:engine::load", "misuse:^engine::load", "misuse:engine::parse"}) {
    CAPTURE(rule);
    CHECK(sample.sorted(rule).rule_of_fault[kTwice] == 0);
  }
  CHECK(sample.sorted("double_free:engine::load").suppressed.ways == 1);
  CHECK(sample.sorted("double_free:engine::load").suppressed.times == 2);
  CHECK(sample.sorted("double_free:nobody").suppressed.ways == 0);
  CHECK(sample.sorted("write_after_free:engine::load").rule_of_fault[kTwice] ==
        Suppressions::kNoRule);
  // What was found in a look at all blocks has no stack of its own, but that of its block.
  CHECK(sample.sorted("write_behind:engine::load").rule_of_fault[kSwept] == 0);
}

TEST_CASE("of several rules the first one counts, and the others were not needed") {
  MisuseSample sample;
  const SortedMisuses sorted =
      sample.sorted("double_free:nobody\ndouble_free:main\nmisuse:main\nwrite_behind:main");
  CHECK(sorted.rule_of_fault[kTwice] == 1);
  CHECK(sorted.rule_of_fault[kSwept] == 2);
  CHECK(sorted.rules[0].ways == 0);
  CHECK(sorted.rules[1].ways == 1);
  CHECK(sorted.rules[1].times == 2);
  CHECK(sorted.rules[2].ways > 0);
  CHECK(sorted.rules[3].ways == 0);
}

TEST_CASE("an allow-list is about its own kinds") {
  MisuseSample sample;
  const SortedMisuses none = sample.sorted("only-double_free:nobody");
  CHECK(none.rule_of_fault[kTwice] == 0);
  CHECK(none.rules[0].ways == 0);
  CHECK(none.suppressed.ways == 1);
  CHECK(none.reported.ways == 4);
  const SortedMisuses some = sample.sorted("only-double_free:nobody\nonly-misuse:engine::load");
  CHECK(some.rule_of_fault[kTwice] == Suppressions::kNoRule);
  CHECK(some.rules[1].ways > 0);
}

TEST_CASE("without memory for the verdicts there is an error") {
  MisuseSample sample;
  for (int i = 0; i < 500; ++i) {
    Misuse misuse;
    misuse.found.stack = kUnknownStack;
    misuse.address = static_cast<std::uintptr_t>(i);
    sample.add_misuse(misuse, 1);
  }
  const Report current = sample.report();
  const FrameList frames(current);
  alloctap::StatusCode code{};
  {
    const testing::StarvedArena starved;
    code = sort_misuses(sample.snapshot, Suppressions(), frames).status().code();
  }
  CHECK(code == alloctap::StatusCode::kResourceExhausted);
}
