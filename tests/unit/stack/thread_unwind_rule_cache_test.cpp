#include <doctest/doctest.h>

#include <cstdint>

#include "alloctap/stack/unwind_table_stack.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::ThreadUnwindRuleCache;
using alloctap::UnwindRule;
using alloctap::UnwindRules;

std::uintptr_t code() { return reinterpret_cast<std::uintptr_t>(&code) + 1; }

}  // namespace

TEST_CASE("recent rules are those of the tables, asked once or again") {
  ThreadUnwindRuleCache recent;
  const auto epoch = UnwindRules::epoch();
  for (int round = 0; round < 2; ++round) {
    for (std::uintptr_t i = 0; i < 20'000; ++i) {
      REQUIRE(recent.of(epoch).find(code() + i) == UnwindRules::find(code() + i, epoch));
    }
  }
}

TEST_CASE("an address without a table has no rule") {
  ThreadUnwindRuleCache recent;
  for (int round = 0; round < 2; ++round) {
    CHECK(recent.of(UnwindRules::epoch()).find(0x10).kind == UnwindRule::Kind::kNone);
  }
}

// That they are forgotten with a module is seen where one takes another's place: the tests of
// `tests/integration/unwind/switches` do that.
TEST_CASE("rules are found again when the epoch changes") {
  ThreadUnwindRuleCache recent;
  const auto epoch = UnwindRules::epoch();
  const UnwindRule rule = recent.of(epoch).find(code());
  CHECK(rule.kind != UnwindRule::Kind::kNone);
  CHECK(recent.of(epoch + 1).find(code()) == rule);
  CHECK(recent.of(epoch).find(code()) == rule);
}

TEST_CASE("without memory the tables are asked") {
  ThreadUnwindRuleCache recent;
  const alloctap::testing::StarvedArena starved;
  const auto epoch = UnwindRules::epoch();
  CHECK(recent.of(epoch).find(code()) == UnwindRules::find(code(), epoch));
}
