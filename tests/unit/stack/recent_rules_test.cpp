#include "alloctap/stack/recent_rules.hpp"

#include <doctest/doctest.h>
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/support/starved_arena.hpp"

namespace {

using alloctap::RecentRules;
using alloctap::UnwindRule;
using alloctap::UnwindRules;

std::uintptr_t inside(void (*function)()) { return reinterpret_cast<std::uintptr_t>(function) + 1; }
std::uintptr_t code() { return inside(reinterpret_cast<void (*)()>(&std::qsort)); }

}  // namespace

TEST_CASE("recent rules are those of the tables, asked once or again") {
  RecentRules recent;
  const auto epoch = UnwindRules::epoch();
  for (int round = 0; round < 2; ++round) {
    for (std::uintptr_t i = 0; i < 20'000; ++i) {
      REQUIRE(recent.find(code() + i, epoch) == UnwindRules::find(code() + i, epoch));
    }
  }
}

TEST_CASE("an address without a table has no rule") {
  RecentRules recent;
  for (int round = 0; round < 2; ++round) {
    CHECK(recent.find(0x10, UnwindRules::epoch()).kind == UnwindRule::Kind::kNone);
  }
}

TEST_CASE("rules of another epoch are forgotten") {
  RecentRules recent;
  // Of an epoch that has not come, so that nobody else has kept rules for it.
  constexpr UnwindRules::Epoch kFar = 1'000'000;
  const UnwindRule rule = recent.find(code(), kFar);
  CHECK(rule.kind != UnwindRule::Kind::kNone);
  CHECK(recent.find(code(), kFar + 1) == rule);
  CHECK(recent.find(code(), kFar) == rule);
}

TEST_CASE("without memory the tables are asked") {
  RecentRules recent;
  const alloctap::testing::StarvedArena starved;
  const auto epoch = UnwindRules::epoch();
  CHECK(recent.find(code(), epoch) == UnwindRules::find(code(), epoch));
}
