#include <doctest/doctest.h>

#include "alloctap/game/thread_frames.hpp"

using alloctap::TypicalLatency;

TEST_CASE(
    "a usual call stands for those whose time is not taken, one that took much longer for itself") {
  TypicalLatency time;
  CHECK(time.estimate(50, 64) == 64 * 50);
  CHECK(time.estimate(800, 64) == 64 * 800);
  CHECK(time.estimate(1'000'000, 64) == 1'000'000);
  CHECK(time.estimate(1'000'000, 1) == 1'000'000);
}

TEST_CASE("what is usual follows what calls take, and one call hardly changes it") {
  TypicalLatency time;
  for (int i = 0; i < 100; ++i) time.estimate(40, 64);
  CHECK(time.ns == 40);
  time.estimate(1'000'000'000, 64);
  CHECK(time.ns <= 81);
  CHECK(time.estimate(10'000, 64) == 10'000);
  for (int i = 0; i < 100; ++i) time.estimate(10'000, 64);
  CHECK(time.ns == 10'000);
  CHECK(time.estimate(10'000, 64) == 640'000);
  for (int i = 0; i < 200; ++i) time.estimate(0, 64);
  CHECK(time.ns <= 8);
  CHECK(time.ns > 0);
}

TEST_CASE("a slow first call makes nothing usual that is not") {
  TypicalLatency time;
  CHECK(time.estimate(50'000'000, 64) == 50'000'000);
  CHECK(time.estimate(50'000'000, 64) == 50'000'000);
  CHECK(time.ns <= 4 * TypicalLatency::kFirstAtMost);
  CHECK(time.estimate(2'000, 64) == 64 * 2'000);
}
