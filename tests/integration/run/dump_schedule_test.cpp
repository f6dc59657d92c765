#include "examples/tools/dump_schedule.hpp"

#include <doctest/doctest.h>

namespace {

using alloctap::run::DumpSchedule;

constexpr std::int64_t kNow = 1'000'000'000;

TEST_CASE("without an interval and a threshold no dump is ever due") {
  DumpSchedule schedule(0, 0, kNow);
  CHECK_FALSE(schedule.due(DumpSchedule::kNever - 1, UINT64_MAX));
  CHECK(schedule.next_look(kNow) == DumpSchedule::kNever);
  schedule.note_dump(kNow, 7);
  CHECK(schedule.next_look(kNow) == DumpSchedule::kNever);
}

TEST_CASE("dumps come at their times, however long each takes") {
  DumpSchedule schedule(100, 0, kNow);
  CHECK(schedule.next_look(kNow) == kNow + 100);
  CHECK_FALSE(schedule.due(kNow + 99, 0));
  CHECK(schedule.due(kNow + 130, 0));
  schedule.note_dump(kNow + 130, 0);
  CHECK(schedule.next_look(kNow + 150) == kNow + 200);
}

TEST_CASE("dumps that came too late are left out") {
  DumpSchedule schedule(100, 0, kNow);
  schedule.note_dump(kNow + 350, 0);
  CHECK_FALSE(schedule.due(kNow + 449, 0));
  CHECK(schedule.due(kNow + 450, 0));
}

TEST_CASE("a dump for another reason does not shift the times") {
  DumpSchedule schedule(100, 0, kNow);
  schedule.note_dump(kNow + 50, 0);
  CHECK(schedule.next_look(kNow + 50) == kNow + 100);
}

TEST_CASE("growth counts from the last dump, and no fall does") {
  DumpSchedule schedule(0, 1000, kNow);
  CHECK_FALSE(schedule.due(kNow, 999));
  CHECK(schedule.due(kNow, 1000));
  schedule.note_dump(kNow, 5000);
  CHECK_FALSE(schedule.due(kNow, 5999));
  CHECK_FALSE(schedule.due(kNow, 0));
  CHECK(schedule.due(kNow, 6000));
  CHECK(schedule.next_look(kNow) == kNow + DumpSchedule::kLook);
}

TEST_CASE("either makes a dump due") {
  DumpSchedule schedule(100, 1000, kNow);
  CHECK(schedule.due(kNow + 1, 1000));
  CHECK(schedule.due(kNow + 100, 0));
  CHECK(schedule.next_look(kNow) == kNow + 100);
}

}  // namespace
