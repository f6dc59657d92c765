#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "alloctap/check/guarded_blocks.hpp"

namespace {

using alloctap::GuardSampler;

/// How many of `calls` on a thread of its own are chosen.
int chosen_of(int calls, std::uint32_t one_in, bool asks_each = false) {
  int chosen = 0;
  std::thread([&] {
    for (int i = 0; i < calls; ++i) chosen += GuardSampler::is_due(one_in, asks_each) ? 1 : 0;
  }).join();
  return chosen;
}

}  // namespace

TEST_CASE("none, each, or about one in so many blocks is chosen") {
  CHECK(chosen_of(1000, 0) == 0);
  CHECK(chosen_of(1000, 1) == 1000);
  for (const bool asks_each : {false, true}) {
    const int some = chosen_of(100000, 100, asks_each);
    CHECK(some > 700);
    CHECK(some < 1300);
  }
}

TEST_CASE("a thread of few blocks has one chosen as often as another") {
  int chosen = 0;
  for (int i = 0; i < 400; ++i) chosen += chosen_of(5, 10);
  CHECK(chosen > 50);
  CHECK(chosen < 400);
}

TEST_CASE("what is passed over counts, and what is not is asked for") {
  std::thread([] {
    constexpr std::uint32_t kOneIn = 100;
    CHECK_FALSE(GuardSampler::passes_over());
    CHECK_FALSE(GuardSampler::is_due(kOneIn, false));
    int chosen = 0;
    int calls = 0;
    for (; chosen < 50; ++calls) {
      if (GuardSampler::passes_over()) continue;
      CHECK_FALSE(GuardSampler::passes_over());
      CHECK(GuardSampler::is_due(kOneIn, false));
      ++chosen;
    }
    CHECK(calls > 50 * kOneIn * 6 / 10);
    CHECK(calls < 50 * kOneIn * 14 / 10);
  }).join();
}

TEST_CASE("nothing is passed over where all or none is chosen, or each is looked at") {
  std::thread([] {
    for (const std::uint32_t one_in : {0u, 1u, 100u}) {
      for (int i = 0; i < 300; ++i) {
        CHECK_FALSE(GuardSampler::passes_over());
        static_cast<void>(GuardSampler::is_due(one_in, true));
      }
    }
  }).join();
}

TEST_CASE("a sample of the rarest blocks has none of the next") {
  CHECK(chosen_of(1000, UINT32_MAX) == 0);
  CHECK(chosen_of(1000, UINT32_MAX, true) == 0);
}

TEST_CASE("random numbers are not the same") {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 1000; ++i) numbers.insert(GuardSampler::random());
  CHECK(numbers.size() == 1000);
}
