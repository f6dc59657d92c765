#include <doctest/doctest.h>

#include <algorithm>

#include "alloctap/record/timeline.hpp"

namespace {

using alloctap::TimelinePoint;
using alloctap::TimelineRing;

constexpr std::int64_t kMillisecond = 1'000'000;

/// `count` points, a millisecond apart, that hold nothing but the one at `highest`.
void fill(TimelineRing& ring, std::int64_t count, std::int64_t highest) {
  for (std::int64_t i = 0; i < count; ++i) {
    ring.add({.time_ns = i * kMillisecond, .live_bytes = i == highest ? 1000U : 1U});
  }
}

/// The widest gap between points that are `from` to `to` old.
std::int64_t widest_gap(const TimelineRing& ring, std::int64_t from, std::int64_t to) {
  const auto& points = ring.points();
  const std::int64_t now = points[points.size() - 1].time_ns;
  std::int64_t widest = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const std::int64_t age = now - points[i].time_ns;
    if (age < from || age > to) continue;
    widest = std::max(widest, points[i + 1].time_ns - points[i].time_ns);
  }
  return widest;
}

}  // namespace

TEST_CASE("as long as there is room every point is kept") {
  TimelineRing ring;
  fill(ring, TimelineRing::kCapacity, 0);
  REQUIRE(ring.points().size() == TimelineRing::kCapacity);
  CHECK(widest_gap(ring, 0, 2000 * kMillisecond) == kMillisecond);
}

TEST_CASE("a timeline stays bounded, in order, with its first, its last and its highest point") {
  TimelineRing ring;
  constexpr std::int64_t kPoints = 100'000;
  constexpr std::int64_t kHighest = 5'000;
  fill(ring, kPoints, kHighest);
  const auto& points = ring.points();
  REQUIRE(points.size() == TimelineRing::kCapacity);
  CHECK(std::is_sorted(points.begin(), points.end(),
                       [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; }));
  CHECK(points[0].time_ns == 0);
  CHECK(points[points.size() - 1].time_ns == (kPoints - 1) * kMillisecond);
  CHECK(std::count_if(points.begin(), points.end(), [](const TimelinePoint& point) {
          return point.live_bytes == 1000 && point.time_ns == kHighest * kMillisecond;
        }) == 1);
}

TEST_CASE("the older its points, the wider a timeline's gaps, in proportion") {
  TimelineRing ring;
  fill(ring, 100'000, 0);
  // 1024 points over 100 seconds: a gap is about 1/100 of the age.
  CHECK(widest_gap(ring, 0, 50 * kMillisecond) <= 2 * kMillisecond);
  CHECK(widest_gap(ring, 0, 1'000 * kMillisecond) <= 30 * kMillisecond);
  CHECK(widest_gap(ring, 0, 10'000 * kMillisecond) <= 300 * kMillisecond);
  CHECK(widest_gap(ring, 0, 100'000 * kMillisecond) <= 3'000 * kMillisecond);
}
