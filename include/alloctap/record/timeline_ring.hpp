/// Timeline points whose density decreases with age.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/record/timeline_point.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Keeps at most `kCapacity` points. When full, removes the point with the smallest distance
/// between its neighbours relative to its age, so that the spacing grows with age. The first and
/// the highest point stay. Bounded arena memory. Constant-initialized. Not thread-safe.
class TimelineRing {
 public:
  static constexpr std::size_t kCapacity = 1024;

  /// Adds `point`, which is younger than all others. Does nothing if out of memory.
  void add(const TimelinePoint& point) noexcept {
    if (points_.size() == kCapacity) remove(least_telling(point.time_ns));
    static_cast<void>(points_.push_back(point));
  }

  /// Returns the points by time.
  [[nodiscard]] const ArenaArray<TimelinePoint>& points() const noexcept { return points_; }

 private:
  [[nodiscard]] std::size_t least_telling(std::int64_t now) const noexcept {
    const std::size_t highest = position_of_highest();
    std::size_t least = 0;
    double least_worth = 0;
    for (std::size_t i = 1; i + 1 < points_.size(); ++i) {
      if (i == highest) continue;
      const std::int64_t gap = points_[i + 1].time_ns - points_[i - 1].time_ns;
      const std::int64_t age = std::max<std::int64_t>(now - points_[i].time_ns, 1);
      const double worth = static_cast<double>(gap) / static_cast<double>(age);
      if (least != 0 && worth >= least_worth) continue;
      least = i;
      least_worth = worth;
    }
    return least;
  }

  [[nodiscard]] std::size_t position_of_highest() const noexcept {
    const auto* highest = std::max_element(
        points_.begin(), points_.end(),
        [](const TimelinePoint& a, const TimelinePoint& b) { return a.live_bytes < b.live_bytes; });
    return static_cast<std::size_t>(highest - points_.begin());
  }

  void remove(std::size_t position) noexcept {
    std::copy(points_.begin() + position + 1, points_.end(), points_.begin() + position);
    static_cast<void>(points_.resize(points_.size() - 1));
  }

  ArenaArray<TimelinePoint> points_;
};

}  // namespace alloctap
