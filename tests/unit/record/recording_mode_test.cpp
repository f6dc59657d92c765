#include "alloctap/record/recording_mode.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using alloctap::RecordingMode;

TEST_CASE("pauses nest, and one that is not in force cannot be resumed") {
  RecordingMode detours;
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
  RecordingMode detours;
  detours.begin(true, false);
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
  RecordingMode detours;
  detours.pause();
  detours.begin(false, false);
  CHECK_FALSE(detours.any());
  CHECK(detours.pauses() == 1);
}

TEST_CASE("the word is another one in each session, each pause, and behind them") {
  RecordingMode detours;
  CHECK(detours.word() != 0);
  CHECK_FALSE(detours.samples());
  detours.begin(true, true);
  const std::uint64_t first = detours.word();
  CHECK(detours.samples());
  CHECK(RecordingMode::only_samples(first));
  detours.pause();
  CHECK(detours.samples());
  CHECK(detours.word() != first);
  CHECK_FALSE(RecordingMode::only_samples(detours.word()));
  detours.resume();
  CHECK(detours.word() == first);
  detours.end();
  CHECK(detours.samples());
  CHECK_FALSE(RecordingMode::only_samples(detours.word()));
  detours.begin(true, true);
  CHECK(RecordingMode::only_samples(detours.word()));
  CHECK(detours.word() != first);
  detours.begin(true, false);
  CHECK_FALSE(detours.samples());
  CHECK_FALSE(RecordingMode::only_samples(detours.word()));
}
