#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "alloctap/sample/poisson_by_bytes.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

template <class Test>
struct TimelineSampledConfig : ScriptedConfig<Test> {
  using Sampling = PoissonByBytes<1'000>;
};

constexpr std::array<std::uintptr_t, 1> kOneFrame{0x1011};

struct PointsTest;
struct TimelineBufferedTest;
struct TimelineSampledTest;
struct MarkersTest;
struct NobodyTest;
struct TimelineThreadsTest;
struct TimelineSumsTest;

/// One block lives, then two, then one.
template <class Tracker>
Snapshot play() {
  ScriptedStack::play(kOneFrame);
  const Session session = started<Tracker>();
  Tracker::Hook::on_allocate(at(0x10000), 1'000'000);
  Tracker::add_timeline_point();
  Tracker::Hook::on_allocate(at(0x200000), 3'000'000);
  Tracker::add_timeline_point();
  Tracker::Hook::on_free(at(0x10000));
  return snapshot_of<Tracker>();
}

void check_point(const TimelinePoint& point, std::uint64_t live_allocations,
                 std::uint64_t live_bytes, std::uint64_t allocations,
                 std::uint64_t allocated_bytes) {
  CHECK(point.live_allocations == live_allocations);
  CHECK(point.live_bytes == live_bytes);
  CHECK(point.allocations == allocations);
  CHECK(point.allocated_bytes == allocated_bytes);
  CHECK(point.resident_bytes > 100'000);
}

void check_played(const Snapshot& snapshot) {
  REQUIRE(snapshot.timeline.size() == 4);
  check_point(snapshot.timeline[0], 0, 0, 0, 0);
  check_point(snapshot.timeline[1], 1, 1'000'000, 1, 1'000'000);
  check_point(snapshot.timeline[2], 2, 4'000'000, 2, 4'000'000);
  check_point(snapshot.timeline[3], 1, 3'000'000, 2, 4'000'000);
  CHECK(snapshot.timeline[0].time_ns > 0);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(snapshot.timeline[i].time_ns >= snapshot.timeline[i - 1].time_ns);
  }
  CHECK(snapshot.timeline[3].time_ns == snapshot.time_ns);
}

}  // namespace

TEST_CASE("a timeline begins with the session and ends with the snapshot") {
  check_played(play<Tracker<ScriptedConfig<PointsTest>>>());
}

TEST_CASE("what is still in a queue is in the point") {
  check_played(play<Tracker<BufferedScriptedConfig<TimelineBufferedTest>>>());
}

TEST_CASE("while a policy samples, calls are counted and what is live is estimated") {
  // Blocks of a thousand times the mean are all recorded, with a weight of 1.
  check_played(play<Tracker<TimelineSampledConfig<TimelineSampledTest>>>());
}

TEST_CASE("markers have the names that the program gave them, in order") {
  using T = Tracker<ScriptedConfig<MarkersTest>>;
  T::mark("before the session");
  const Session session = started<T>();
  T::mark("level 1");
  std::string name = "level 2";
  T::mark(name);
  name = "changed";
  const Snapshot snapshot = snapshot_of<T>();
  REQUIRE(snapshot.markers.size() == 2);
  CHECK(snapshot.markers[0].name == "level 1");
  CHECK(snapshot.markers[1].name == "level 2");
  CHECK(snapshot.markers[0].time_ns <= snapshot.markers[1].time_ns);
  CHECK(snapshot.markers[0].time_ns >= snapshot.timeline[0].time_ns);
  CHECK(snapshot.forgotten_markers == 0);
}

TEST_CASE("without a session there are no points but that of the snapshot") {
  using T = Tracker<ScriptedConfig<NobodyTest>>;
  T::add_timeline_point();
  CHECK(snapshot_of<T>().timeline.size() == 1);
}

TEST_CASE("a point has the sums of all threads") {
  using T = Tracker<ScriptedConfig<TimelineSumsTest>>;
  ScriptedStack::play(kOneFrame);
  const Session session = started<T>();
  // Twice on this thread, three times on another, which is there until the point was taken.
  T::Hook::on_allocate(at(0x10000), 1'000);
  T::Hook::on_allocate(at(0x20000), 2'000);
  T::Hook::on_free(at(0x10000));
  std::atomic<bool> counted{false};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    ScriptedStack::play(kOneFrame);
    for (const std::uintptr_t place : {0x30000UL, 0x40000UL, 0x50000UL})
      T::Hook::on_allocate(at(place), 10);
    T::Hook::on_free(at(0x30000));
    counted = true;
    while (!stop) std::this_thread::yield();
  });
  while (!counted) std::this_thread::yield();
  T::add_timeline_point();
  stop = true;
  other.join();
  const Snapshot snapshot = snapshot_of<T>();
  REQUIRE(snapshot.timeline.size() == 3);
  check_point(snapshot.timeline[1], 3, 2'020, 5, 3'030);
}

/// What a thread is counting at the moment of a point may be in one number and not in another.
TEST_CASE(
    "points are taken while other threads allocate, and are right but for a few calls of each") {
  using T = Tracker<ScriptedConfig<TimelineThreadsTest>>;
  const Session session = started<T>();
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  std::thread allocating([&] {
    ScriptedStack::play(kOneFrame);
    while (!stop) {
      T::Hook::on_allocate(at(0x10000), 100);
      T::Hook::on_free(at(0x10000));
      ++rounds;
    }
  });
  while (rounds == 0) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) T::add_timeline_point();
  stop = true;
  allocating.join();
  const Snapshot snapshot = snapshot_of<T>();
  REQUIRE(snapshot.timeline.size() == 202);
  constexpr std::uint64_t kMaxCount = 8;
  for (const TimelinePoint& point : snapshot.timeline) {
    CHECK(point.live_bytes <= 100 + 100 * kMaxCount);
    CHECK(point.live_allocations <= 1 + kMaxCount);
    CHECK(point.allocated_bytes + 100 * kMaxCount >= point.allocations * 100);
    CHECK(point.allocated_bytes <= (point.allocations + kMaxCount) * 100);
  }
  CHECK(snapshot.timeline[1].allocations > snapshot.timeline[0].allocations);
}
