#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "alloctap/stack/unwind_rules.hpp"

namespace {

using alloctap::UnwindRule;
using alloctap::UnwindRuleCache;

/// A rule that tells which address it was made for.
UnwindRule rule_for(std::uintptr_t address) {
  return {.cfa_offset = static_cast<std::int32_t>(address & 0x7FFFFFFF),
          .fp_slot = static_cast<std::int16_t>(address >> 31 & 0xFFF),
          .return_slot = static_cast<std::int8_t>(address & 63),
          .kind = UnwindRule::Kind::kFromStackPointer};
}

bool is_missing(const UnwindRule& rule) { return rule.kind == UnwindRule::Kind::kNone; }

}  // namespace

TEST_CASE("a rule is found under the address and the epoch that it was kept under") {
  const auto cache = std::make_unique<UnwindRuleCache>();
  CHECK(is_missing(cache->find(0x401000, 1)));
  cache->keep(0x401000, rule_for(0x401000), 1);
  CHECK(cache->find(0x401000, 1) == rule_for(0x401000));
  CHECK(is_missing(cache->find(0x401001, 1)));
  CHECK(is_missing(cache->find(0x401000, 2)));
  CHECK(is_missing(cache->find(0x401000, 0)));
}

TEST_CASE("a rule of a new epoch takes the place of the old one") {
  const auto cache = std::make_unique<UnwindRuleCache>();
  cache->keep(0x401000, rule_for(1), 1);
  cache->keep(0x401000, rule_for(2), 2);
  CHECK(cache->find(0x401000, 2) == rule_for(2));
  CHECK(is_missing(cache->find(0x401000, 1)));
}

TEST_CASE("no address of an empty cache is known, 0 neither") {
  const auto cache = std::make_unique<UnwindRuleCache>();
  for (std::uintptr_t address = 0; address < 100'000; ++address) {
    REQUIRE(is_missing(cache->find(address, 1)));
  }
}

TEST_CASE("of few addresses most are found") {
  const auto cache = std::make_unique<UnwindRuleCache>();
  for (std::uintptr_t i = 0; i < 2000; ++i) cache->keep(0x401000 + i * 7, rule_for(i), 1);
  std::size_t found = 0;
  for (std::uintptr_t i = 0; i < 2000; ++i) {
    const UnwindRule rule = cache->find(0x401000 + i * 7, 1);
    if (!is_missing(rule)) ++found;
    CHECK((is_missing(rule) || rule == rule_for(i)));
  }
  CHECK(found > 1400);
}

TEST_CASE("rules of a new epoch are found when the first table is full of those of the old one") {
  const auto cache = std::make_unique<UnwindRuleCache>();
  for (std::uintptr_t i = 0; i < 10'000; ++i) cache->keep(0x401000 + i * 7, rule_for(i), 1);
  std::size_t found = 0;
  for (std::uintptr_t i = 0; i < 10'000; ++i) {
    cache->keep(0x401000 + i * 7, rule_for(i + 1), 2);
    CHECK(cache->find(0x401000 + i * 7, 2) == rule_for(i + 1));
  }
  for (std::uintptr_t i = 0; i < 10'000; ++i) {
    const UnwindRule old = cache->find(0x401000 + i * 7, 1);
    CHECK((is_missing(old) || old == rule_for(i)));
    if (!is_missing(cache->find(0x401000 + i * 7, 2))) ++found;
  }
  CHECK(found > 8'000);
}

TEST_CASE("of more addresses than there is room for, each has its own rule or none") {
  const auto cache = std::make_unique<UnwindRuleCache>();
  constexpr std::uintptr_t kAddresses = 300'000;
  const auto address_of = [](std::uintptr_t i) { return 0x7F0000000000 + i * 5; };
  for (std::uintptr_t i = 0; i < kAddresses; ++i) {
    cache->keep(address_of(i), rule_for(address_of(i)), 1);
    REQUIRE(cache->find(address_of(i), 1) == rule_for(address_of(i)));
  }
  std::size_t found = 0;
  for (std::uintptr_t i = 0; i < kAddresses; ++i) {
    const UnwindRule rule = cache->find(address_of(i), 1);
    if (is_missing(rule)) continue;
    ++found;
    REQUIRE(rule == rule_for(address_of(i)));
  }
  CHECK(found > 10'000);
  CHECK(found < kAddresses);
}

TEST_CASE("threads that keep rules in one place never find a mixture") {
  const auto cache = std::make_unique<UnwindRuleCache>();
  // Enough for many to share a place.
  constexpr std::uintptr_t kAddresses = 200'000;
  std::atomic<std::size_t> wrong{0};
  const auto work = [&](std::uintptr_t seed) {
    std::uintptr_t number = seed;
    for (int i = 0; i < 400'000; ++i) {
      number = number * 6364136223846793005U + 1442695040888963407U;
      const std::uintptr_t address = 0x10000 + (number >> 33U) % kAddresses;
      const UnwindRuleCache::Epoch epoch = 1 + (number >> 20U) % 2;
      const UnwindRule right = rule_for(address + epoch);
      const UnwindRule rule = cache->find(address, epoch);
      if (is_missing(rule)) {
        cache->keep(address, right, epoch);
      } else if (rule != right) {
        ++wrong;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::uintptr_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
