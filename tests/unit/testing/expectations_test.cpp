#include "alloctap/testing/impl/expectations.hpp"

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "alloctap/testing/test_config.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct ExpectingConfig : TestConfig {
  using Hook = ManualHook<struct ExpectingTest>;
  using Stack = ScriptedStack;
  using Symbolizer = FakeSymbolizer;
};
using ExpectingTracker = Tracker<ExpectingConfig>;

std::vector<std::string>& failures() {
  static std::vector<std::string> list;
  return list;
}

constexpr std::array<std::string_view, 1> kRecordingScopes{"framework::"};

constexpr TestFramework kRecordingFramework{
    .scopes = kRecordingScopes, .fail = [](const char* file, int line, const std::string& message) {
      CHECK(std::string_view(file).ends_with("expectations_test.cpp"));
      CHECK(line > 0);
      failures().push_back(message);
    }};

constexpr std::array<std::uintptr_t, 1> kOnce{0x1001};
constexpr std::array<std::uintptr_t, 1> kTwice{0x2001};

void make(std::uintptr_t block, std::size_t bytes, std::span<const std::uintptr_t> stack = kOnce) {
  ScriptedStack::play(stack);
  ExpectingConfig::Hook::on_allocate(at(block), bytes);
}

/// The failures since it was asked last.
std::vector<std::string> new_failures() { return std::exchange(failures(), {}); }

using Failures = std::vector<std::string>;

}  // namespace

TEST_CASE("what allocates too often fails, with its stacks, the most frequent first") {
  FakeSymbolizer::know({});
  TestFramework::use(kRecordingFramework);
  TestTracker::use<ExpectingTracker>();
  CHECK_FALSE(expect_no_allocation([] {}));
  CHECK(new_failures().at(0).starts_with("no tracker watches this test"));
  const Session session = started<ExpectingTracker>();
  std::uintptr_t next = 0x1000;
  const auto three = [&] {
    make(next += 0x10, 5);
    make(next += 0x10, 40, kTwice);
    make(next += 0x10, 40, kTwice);
    ExpectingConfig::Hook::on_free(at(next));
  };
  CHECK(expect_no_allocation([] {}));
  CHECK(expect_allocations(3, three));
  CHECK(new_failures().empty());
  CHECK_FALSE(expect_allocations(2, three));
  CHECK(new_failures() == Failures{"expected at most 2; there were 3 allocations of 85 bytes\n"
                                   "  2 allocations of 80 bytes, by\n"
                                   "    ??   0x2000\n"
                                   "  1 allocation of 5 bytes, by\n"
                                   "    ??   0x1000\n"});
  const AllocationCount count = count_allocations(three);
  CHECK(count.status.ok());
  CHECK(count.sums.frees == 1);
  CHECK(count.stacks.size() == 2);
  CHECK(count.stacks[0].allocations == 2);
  CHECK_THROWS_AS(expect_no_allocation([] { throw 1; }), int);
  CHECK(new_failures().empty());
}

TEST_CASE("what assertions allocate does not count") {
  TestFramework::use(kRecordingFramework);
  TestTracker::use<ExpectingTracker>();
  const Session session = started<ExpectingTracker>();
  const std::array<FakeSymbolizer::Function, 1> functions{
      {{0x2000, 0x2100, "framework::check()", "", 0}}};
  FakeSymbolizer::know(functions);
  CHECK(expect_no_allocation([] { make(0x5000, 9, kTwice); }));
  CHECK_FALSE(expect_no_allocation([] {
    make(0x5010, 9, kTwice);
    make(0x5020, 5);
  }));
  CHECK(new_failures() == Failures{"expected no allocation; there was 1 allocation of 5 bytes\n"
                                   "  1 allocation of 5 bytes, by\n"
                                   "    ??   0x1000\n"});
  FakeSymbolizer::know({});
}

TEST_CASE("what grows all the time fails, and a cache does not") {
  TestFramework::use(kRecordingFramework);
  TestTracker::use<ExpectingTracker>();
  const Session session = started<ExpectingTracker>();
  std::uintptr_t next = 0x9000;
  int calls = 0;
  CHECK(expect_no_growth(10, [&] {
    if (++calls < 6) make(next += 0x10, 8);
    make(next += 0x10, 8, kTwice);
    ExpectingConfig::Hook::on_free(at(next));
  }));
  CHECK(new_failures().empty());
  calls = 0;
  CHECK(expect_no_growth(10, [&] {
    // Once the warm-up and the first half are over.
    if (++calls == 10) make(next += 0x10, 1'000, kTwice);
  }));
  CHECK(new_failures().empty());
  calls = 0;
  CHECK_FALSE(expect_no_growth(10, [&] {
    if (++calls % 3 == 0) make(next += 0x10, 100);
  }));
  CHECK(new_failures() == Failures{"expected no growth; in 10 calls there was\n"
                                   "  from 40 bytes in 5 blocks to 440 bytes in 9 blocks, by\n"
                                   "    ??   0x1000\n"});
  CHECK_FALSE(expect_no_growth(1, [] {}));
  CHECK(new_failures() == Failures{"expect_no_growth needs at least 2 iterations\n"});
}
