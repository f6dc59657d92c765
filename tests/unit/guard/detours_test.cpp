#include "alloctap/guard/detours.hpp"

#include <doctest/doctest.h>

using alloctap::Detours;

TEST_CASE("pauses nest, and one that is not in force cannot be resumed") {
  Detours detours;
  CHECK_FALSE(detours.any());
  detours.resume();
  CHECK_FALSE(detours.any());
  detours.pause();
  detours.pause();
  CHECK(detours.any());
  detours.resume();
  CHECK(detours.paused());
  detours.resume();
  CHECK_FALSE(detours.paused());
  CHECK_FALSE(detours.any());
  CHECK(detours.pauses() == 2);
}

TEST_CASE("a policy that has to be asked is a detour, and no pause") {
  Detours detours;
  detours.begin(true);
  CHECK(detours.any());
  CHECK_FALSE(detours.paused());
  detours.resume();
  CHECK(detours.any());
  detours.pause();
  CHECK(detours.paused());
  detours.resume();
  CHECK(detours.any());
  CHECK_FALSE(detours.paused());
}

TEST_CASE("a new session starts without a pause, and keeps their number") {
  Detours detours;
  detours.pause();
  detours.begin(false);
  CHECK_FALSE(detours.any());
  CHECK(detours.pauses() == 1);
}
