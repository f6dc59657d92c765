#include <doctest/doctest.h>

#include <random>

#include "alloctap/dump/export/heaptrack_synthesis.hpp"

using alloctap::BlockCount;
using alloctap::LifetimeBreakdown;
using alloctap::split_held;

TEST_CASE("blocks that never went were there both times") {
  const BlockCount all{5, 500};
  CHECK(split_held(all, all, all, 0) == LifetimeBreakdown{{}, {}, all, {}});
}

TEST_CASE("blocks that went were there at the peak alone") {
  CHECK(split_held({10, 1000}, {4, 400}, {}, 3) == LifetimeBreakdown{{6, 600}, {4, 400}, {}, {}});
  CHECK(split_held({10, 1000}, {}, {4, 400}, 3) == LifetimeBreakdown{{6, 600}, {}, {}, {4, 400}});
}

TEST_CASE("a large block at the peak and small ones in the end are others") {
  CHECK(split_held({6, 1050}, {1, 1000}, {5, 50}, 0) ==
        LifetimeBreakdown{{}, {1, 1000}, {}, {5, 50}});
}

TEST_CASE("numbers that do not go together have no parts") {
  CHECK_FALSE(split_held({5, 500}, {6, 500}, {}, 0));
  CHECK_FALSE(split_held({5, 500}, {5, 400}, {}, 0));
  CHECK_FALSE(split_held({5, 500}, {0, 400}, {}, 0));
  CHECK_FALSE(split_held({1, 100}, {1, 100}, {}, 1));
}

TEST_CASE("whatever blocks did, parts are found that add up") {
  std::mt19937_64 random(1);
  const auto some = [&random] {
    const std::uint64_t blocks = random() % 4;
    return BlockCount{blocks, blocks == 0 ? 0 : random() % 5};
  };
  for (int i = 0; i < 100'000; ++i) {
    const LifetimeBreakdown truth{some(), some(), some(), some()};
    const BlockCount at_peak = truth.peak_only + truth.both;
    const BlockCount at_end = truth.both + truth.end_only;
    const BlockCount all = truth.rest + at_peak + truth.end_only;
    const auto parts = split_held(all, at_peak, at_end, 0);
    REQUIRE(parts);
    CHECK(parts->peak_only + parts->both == at_peak);
    CHECK(parts->both + parts->end_only == at_end);
    CHECK(parts->rest + at_peak + parts->end_only == all);
    for (const BlockCount& part : {parts->rest, parts->peak_only, parts->both, parts->end_only}) {
      CHECK((part.blocks > 0 || part.bytes == 0));
    }
  }
}
