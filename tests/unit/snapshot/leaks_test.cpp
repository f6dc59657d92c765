#include "alloctap/snapshot/leaks.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::SampleReport;
using alloctap::testing::StarvedArena;

/// `main` in a module of its own, `parse` with a source file and an inlined function.
struct LeakSample : SampleReport {
  LeakSample() {
    REQUIRE(modules.add_unloaded({.start = kMain,
                                  .end = kMain + 0x1000,
                                  .path = "/opt/game/libscript.so",
                                  .unloaded_before = ~StackId{0}}));
    names = {{kLoad, kParse, "engine::load(char const*)", "", 0},
             {kParse, kMain, "engine::token", "src/token.hpp", 7},
             {kParse, kMain, "engine::parse", "src/parse.cpp", 42},
             {kMain, kNameless, "main", "", 0}};
  }

  Leaks leaks(std::string_view rules) {
    suppressions = {};
    REQUIRE(suppressions.add(rules, "rules").ok());
    const Report current = report();
    alloctap::Result<Leaks> found = find_leaks(snapshot, suppressions, FrameList(current));
    REQUIRE(found.ok());
    return *std::move(found);
  }

  Suppressions suppressions;
};

// The stacks of the sample, by position.
constexpr std::size_t kUnknown = 0;
constexpr std::size_t kDeep = 1;
constexpr std::size_t kShallow = 2;
constexpr std::size_t kGone = 3;

}  // namespace

TEST_CASE("without rules all that is live has leaked, most bytes first") {
  LeakSample sample;
  const Leaks leaks = sample.leaks("");
  CHECK(leaks.leaked.stacks == 3);
  CHECK(leaks.leaked.live_allocations == 13);
  CHECK(leaks.leaked.live_bytes == 3 + 40960 + (1 << 20) - 1);
  CHECK(leaks.suppressed.stacks == 0);
  REQUIRE(leaks.stacks.size() == 3);
  CHECK(leaks.stacks[0] == &sample.snapshot.stacks[kShallow]);
  CHECK(leaks.stacks[1] == &sample.snapshot.stacks[kDeep]);
  CHECK(leaks.stacks[2] == &sample.snapshot.stacks[kUnknown]);
  for (const std::uint32_t rule : leaks.rule_of_stack) CHECK(rule == Leaks::kNoRule);
}

TEST_CASE("a rule names a function, an inlined one, a file or a module of any frame") {
  LeakSample sample;
  for (const char* rule : {"leak:engine::parse", "leak:^engine::token$", "leak:parse.cpp$",
                           "leak:src/token", "leak:libscript.so", "leak:^main$"}) {
    CAPTURE(rule);
    const Leaks leaks = sample.leaks(rule);
    CHECK(leaks.leaked.stacks == 1);
    CHECK(leaks.leaked.live_bytes == 3);
    CHECK(leaks.suppressed.live_allocations == 11);
    CHECK(leaks.suppressed.live_bytes == 40960 + (1 << 20) - 1);
    CHECK(leaks.rule_of_stack[kUnknown] == Leaks::kNoRule);
    CHECK(leaks.rule_of_stack[kDeep] == 0);
    CHECK(leaks.rule_of_stack[kShallow] == 0);
    CHECK(leaks.rule_of_stack[kGone] == Leaks::kNoRule);
  }
}

TEST_CASE("each rule is counted, those that were not needed too") {
  LeakSample sample;
  const Leaks leaks = sample.leaks("leak:nobody\nleak:^main$\nleak:engine::load\nleak:load");
  REQUIRE(leaks.rules.size() == 4);
  CHECK(leaks.rules[0].stacks == 0);
  // The frame that is nearest to the allocation decides.
  CHECK(leaks.rules[1].stacks == 1);
  CHECK(leaks.rules[1].live_bytes == (1 << 20) - 1);
  CHECK(leaks.rules[2].stacks == 1);
  CHECK(leaks.rules[2].live_allocations == 10);
  // Of two rules that name it, the first.
  CHECK(leaks.rules[3].stacks == 0);
  CHECK(leaks.rule_of_stack[kDeep] == 2);
}

TEST_CASE("where some are allowed, nothing else is a leak") {
  LeakSample sample;
  const Leaks leaks = sample.leaks("only-leak:nobody\nonly-leak:engine::load");
  REQUIRE(leaks.stacks.size() == 1);
  CHECK(leaks.stacks[0] == &sample.snapshot.stacks[kDeep]);
  CHECK(leaks.leaked.live_bytes == 40960);
  CHECK(leaks.suppressed.stacks == 2);
  CHECK(leaks.suppressed.live_bytes == 3 + (1 << 20) - 1);
  // What is not allowed is put down to the first rule of the list, which did not match it.
  CHECK(leaks.rule_of_stack[kShallow] == 0);
  CHECK(leaks.rule_of_stack[kUnknown] == 0);
  CHECK(leaks.rule_of_stack[kDeep] == Leaks::kNoRule);
  CHECK(leaks.rule_of_stack[kGone] == Leaks::kNoRule);
  CHECK(leaks.rules[0].stacks == 0);
  CHECK(leaks.rules[1].live_bytes == 40960);
}

TEST_CASE("what is allowed may be suppressed all the same") {
  LeakSample sample;
  const Leaks leaks = sample.leaks("only-leak:^main$\nleak:engine::load\nmisuse:main");
  REQUIRE(leaks.rules.size() == 2);
  REQUIRE(leaks.stacks.size() == 1);
  CHECK(leaks.stacks[0] == &sample.snapshot.stacks[kShallow]);
  CHECK(leaks.rule_of_stack[kDeep] == 1);
  CHECK(leaks.rule_of_stack[kUnknown] == 0);
  CHECK(leaks.rules[0].live_bytes == (1 << 20) - 1);
  CHECK(leaks.rules[1].live_bytes == 40960);
}

TEST_CASE("a stack that holds nothing is neither leaked nor suppressed") {
  LeakSample sample;
  sample.names.push_back(
      {SampleReport::kNameless, SampleReport::kNameless + 0x1000, "gone", "", 0});
  const Leaks leaks = sample.leaks("leak:gone");
  CHECK(leaks.suppressed.stacks == 0);
  CHECK(leaks.rules[0].stacks == 0);
  CHECK(leaks.rule_of_stack[kGone] == Leaks::kNoRule);
}

TEST_CASE("what is expected to stay is no leak, in tags inside of that too") {
  LeakSample sample;
  const auto tags = std::make_unique<TagTable>();
  sample.snapshot.tags = tags.get();
  const TagId cache = tags->find_or_add(kNoTag, "Cache");
  const TagId stays = tags->find_or_add(cache, ALLOCTAP_EXPECTED_TO_STAY);
  const TagId inside = tags->find_or_add(stays, "Fonts");
  for (const TagId tag : {cache, stays, inside}) {
    sample.add({.stack = sample.intern({SampleReport::kMain}, {.tag = tag}),
                .total = {.allocations = 1, .allocated_bytes = 100},
                .live_allocations = 1,
                .live_bytes = 100});
  }
  const Leaks leaks = sample.leaks("");
  CHECK(leaks.leaked.stacks == 4);
  CHECK(leaks.suppressed.stacks == 2);
  CHECK(leaks.suppressed.live_bytes == 200);
}

TEST_CASE("a block of no bytes is a leak") {
  LeakSample sample;
  sample.add({sample.intern({SampleReport::kNameless + 1}), {1, 0, 0}, 1, 0});
  CHECK(sample.leaks("").leaked.stacks == 4);
}

TEST_CASE("where unreachable blocks were looked for those alone are leaks, definite ones first") {
  LeakSample sample;
  sample.snapshot.scan.done = true;
  sample.snapshot.stacks[kUnknown].unreachable = {1, 3, 0, 0};
  sample.snapshot.stacks[kDeep].unreachable = {0, 0, 2, 8000};
  const Leaks leaks = sample.leaks("");
  CHECK(leaks.leaked.stacks == 2);
  CHECK(leaks.leaked.live_allocations == 3);
  CHECK(leaks.leaked.live_bytes == 8003);
  CHECK(leaks.definite.live_allocations == 1);
  CHECK(leaks.definite.live_bytes == 3);
  CHECK(leaks.indirect.stacks == 1);
  CHECK(leaks.indirect.live_bytes == 8000);
  REQUIRE(leaks.stacks.size() == 2);
  CHECK(leaks.stacks[0] == &sample.snapshot.stacks[kUnknown]);
  CHECK(leaks.stacks[1] == &sample.snapshot.stacks[kDeep]);

  const Leaks suppressed = sample.leaks("leak:engine::load\nleak:^main$");
  CHECK(suppressed.suppressed.stacks == 1);
  CHECK(suppressed.suppressed.live_allocations == 2);
  CHECK(suppressed.indirect.stacks == 0);
  CHECK(suppressed.leaked.live_bytes == 3);
  // Live, and not lost.
  CHECK(suppressed.rules[1].stacks == 0);
}

TEST_CASE("without memory for them there is an error") {
  LeakSample sample;
  for (std::uintptr_t i = 1; i < 50'000; ++i) {
    sample.add({sample.intern({SampleReport::kLoad, i}), {1, 1, 0}, 1, 1});
  }
  REQUIRE(sample.suppressions.add("leak:a", "rules").ok());
  const Report report = sample.report();
  const FrameList frames(report);
  const StarvedArena starved;
  const auto leaks = find_leaks(sample.snapshot, sample.suppressions, frames);
  CHECK(leaks.status().code() == alloctap::StatusCode::kResourceExhausted);
}
