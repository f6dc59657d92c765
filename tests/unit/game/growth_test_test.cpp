#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "alloctap/game/soak_detector.hpp"

namespace {

using namespace alloctap;

/// From 0 to 1, the same on every system.
double uniform(std::mt19937& random) { return static_cast<double>(random()) / 4294967296.0; }

constexpr int kSeeds = 40;
constexpr std::uint64_t kMarks = 400;

/// Of `kSeeds` series that `make(random)` gives as functions of the mark, in how many the test sees
/// growth at any of many marks from `begin` on, as one of a hundred stacks would need to show it.
template <class Make>
int count_named(std::uint64_t begin, Make make) {
  int named = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    auto held = make(random);
    GrowthSeries series;
    bool grows = false;
    for (std::uint64_t mark = 0; mark < kMarks; ++mark) {
      series.add(static_cast<std::uint64_t>(held(static_cast<double>(mark))));
      const bool is_looked_at = mark >= begin && mark % 7 == 0;
      grows = grows || (is_looked_at && GrowthTest::run(series).chance < 0.0001);
    }
    named += grows;
  }
  return named;
}

}  // namespace

TEST_CASE("windows keep the least that was held, and each two become one") {
  GrowthSeries series;
  for (std::uint64_t mark = 0; mark < 64; ++mark) series.add(mark % 2 == 0 ? mark : 1000);
  REQUIRE(series.floors().size() == 32);
  CHECK(series.marks_of_window() == 2);
  CHECK(series.floors()[0] == 0);
  CHECK(series.floors()[31] == 62);
  series.add(7);
  CHECK(series.floors().size() == 32);
  CHECK(series.open_floor() == 7);
  CHECK(series.marks() == 65);
  CHECK(series.last() == 7);
  series.add(9);
  REQUIRE(series.floors().size() == 33);
  CHECK(series.floors()[32] == 7);
}

TEST_CASE("the chance of steps among moves is binomial") {
  CHECK(GrowthTest::chance_of(0, 0) == doctest::Approx(1));
  CHECK(GrowthTest::chance_of(0, 5) == doctest::Approx(1));
  CHECK(GrowthTest::chance_of(10, 0) == doctest::Approx(0.0060466));
  CHECK(GrowthTest::chance_of(2, 1) == doctest::Approx(0.648));
}

TEST_CASE("heights that are left again are no steps") {
  GrowthSeries rising;
  GrowthSeries falling;
  for (std::uint64_t mark = 0; mark < 20; ++mark) {
    rising.add(100 * mark);
    falling.add(mark < 19 ? 100 * mark : 0);
  }
  falling.add(0);
  CHECK(GrowthTest::run(rising).steps > 10);
  CHECK(GrowthTest::run(falling).steps == 0);
}

TEST_CASE("what comes and goes does not grow") {
  SUBCASE("noise") {
    CHECK(count_named(50, [](std::mt19937& random) {
            return [&random](double) { return 1e5 + uniform(random) * 2e4; };
          }) == 0);
  }
  SUBCASE("a random walk") {
    CHECK(count_named(50, [](std::mt19937& random) {
            return [&random, held = 1e5](double) mutable {
              held = std::abs(held + (uniform(random) - 0.5) * 2000);
              return held;
            };
          }) == 0);
  }
  SUBCASE("a cache that is emptied when it is full") {
    CHECK(count_named(50, [](std::mt19937& random) {
            const double period = 3 + uniform(random) * 45;
            return [period](double mark) { return 1000 * std::fmod(mark, period); };
          }) == 0);
  }
  SUBCASE("a vector that doubles") {
    CHECK(count_named(50, [](std::mt19937& random) {
            return [each = 1 + uniform(random) * 50, held = 16.0](double mark) mutable {
              while (held < each * mark) held *= 2;
              return held;
            };
          }) == 0);
  }
}

TEST_CASE("a warm-up that ends or dies down does not grow any more") {
  SUBCASE("steady, then at an end") {
    CHECK(count_named(100, [](std::mt19937& random) {
            const double end = 5 + uniform(random) * 70;
            return [&random, end](double mark) {
              return 5000 * std::min(mark, end) + uniform(random) * 1000;
            };
          }) == 0);
  }
  SUBCASE("towards a limit") {
    CHECK(count_named(100, [](std::mt19937& random) {
            const double pace = 5 + uniform(random) * 40;
            return [pace](double mark) { return 1e7 * (1 - std::exp(-mark / pace)); };
          }) == 0);
  }
  SUBCASE("slower and slower") {
    CHECK(count_named(50, [](std::mt19937& random) {
            return
                [size = uniform(random) * 1e6](double mark) { return size * std::log(1 + mark); };
          }) == 0);
  }
}

TEST_CASE("a leak grows") {
  SUBCASE("at every mark") {
    CHECK(count_named(50, [](std::mt19937&) { return [](double mark) { return 2000 * mark; }; }) ==
          kSeeds);
  }
  SUBCASE("beside more that comes and goes") {
    CHECK(count_named(50, [](std::mt19937& random) {
            return [&random](double mark) { return 2000 * mark + uniform(random) * 10000; };
          }) == kSeeds);
  }
  SUBCASE("a block in every few marks") {
    CHECK(count_named(50, [](std::mt19937& random) {
            return [&random, held = 0.0](double) mutable {
              if (uniform(random) < 0.3) held += 64;
              return held;
            };
          }) == kSeeds);
  }
  SUBCASE("behind a warm-up of the same stack") {
    CHECK(count_named(50, [](std::mt19937& random) {
            const double end = 5 + uniform(random) * 35;
            return [end](double mark) { return 1e5 * std::min(mark, end) + 2000 * mark; };
          }) == kSeeds);
  }
}

TEST_CASE(
    "growth has ended when nothing came for three times as long as it took from step to step") {
  GrowthSeries series;
  for (std::uint64_t mark = 0; mark < 52; ++mark) series.add(mark);
  CHECK(GrowthTest::run(series).chance < 0.0001);
  for (int mark = 0; mark < 3; ++mark) series.add(51);
  CHECK(GrowthTest::run(series).chance < 0.0001);
  for (int mark = 0; mark < 2; ++mark) series.add(51);
  CHECK(GrowthTest::run(series).chance == 1);
}

TEST_CASE("what is held for a while alone is no step, and a fall counts against the steps") {
  GrowthSeries series;
  for (std::uint64_t mark = 0; mark < 40; ++mark) series.add(mark * 10 - (mark % 10 == 9 ? 15 : 0));
  const GrowthFinding finding = GrowthTest::run(series);
  // Of the 30 windows from the tenth on: what it comes back to is above all before, the fall is
  // not.
  CHECK(finding.falls == 3);
  CHECK(finding.steps == 27);
  CHECK(finding.chance == doctest::Approx(GrowthTest::chance_of(27, 3)));
}

TEST_CASE("the pace of a leak is told in bytes for each mark") {
  GrowthSeries series;
  for (std::uint64_t mark = 0; mark < 90; ++mark) series.add(5000 + 2000 * mark);
  CHECK(GrowthTest::run(series).bytes_per_mark == doctest::Approx(2000).epsilon(0.05));
}

TEST_CASE("of a few marks nothing is said") {
  GrowthSeries series;
  for (std::uint64_t mark = 0; mark < 7; ++mark) series.add(mark);
  CHECK(GrowthTest::run(series).chance == 1);
  CHECK(GrowthTest::run(GrowthSeries()).chance == 1);
}
