/// The timeline of a session: live bytes over time, and the program's markers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>

#include "alloctap/record/heap_summary.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/function_ref.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/runtime/text_bytes.hpp"

namespace alloctap {

/// Keeps at most `kCapacity` points. When full, removes the point with the smallest (time between
/// its neighbours) / (its age), so the spacing of points grows with age. Never removes the first or
/// the highest point. Bounded arena memory. Constant-initialized. Not thread-safe.
class TimelineRing {
 public:
  static constexpr std::size_t kCapacity = 1024;

  /// Adds `point`, which must be later than all others. Has no effect if out of memory.
  void add(const TimelinePoint& point) noexcept {
    if (points_.size() == kCapacity) remove(least_informative(point.time_ns));
    static_cast<void>(points_.push_back(point));
  }

  /// Returns the points, oldest first.
  [[nodiscard]] const ArenaArray<TimelinePoint>& points() const noexcept { return points_; }

 private:
  [[nodiscard]] std::size_t least_informative(std::int64_t now) const noexcept {
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

/// A ring buffer of the latest `kCapacity` markers, with copies of their names. Bounded arena
/// memory. Constant-initialized. Not thread-safe.
class MarkerRing {
 public:
  static constexpr std::size_t kCapacity = 1024;
  /// The maximum length in bytes; longer names are cut.
  static constexpr std::size_t kLongestName = 111;

  /// Adds a marker. Has no effect if out of memory.
  void add(std::int64_t time_ns, std::string_view name) noexcept {
    if (entries_.empty() && !entries_.resize(kCapacity)) return;
    Entry& entry = entries_[added_++ % kCapacity];
    entry.time_ns = time_ns;
    name = cut_text(name, kLongestName);
    entry.length = static_cast<std::uint8_t>(name.size());
    if (entry.length > 0) std::memcpy(entry.name, name.data(), entry.length);
  }

  /// Returns the number of overwritten markers.
  [[nodiscard]] std::uint64_t forgotten() const noexcept {
    return added_ - std::min<std::uint64_t>(added_, kCapacity);
  }

  /// Calls `visit(time_ns, name)` for each marker, oldest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint64_t i = forgotten(); i < added_; ++i) {
      const Entry& entry = entries_[i % kCapacity];
      visit(entry.time_ns, std::string_view(entry.name, entry.length));
    }
  }

 private:
  struct Entry {
    std::int64_t time_ns = 0;
    std::uint8_t length = 0;
    char name[kLongestName] = {};
  };
  static_assert(sizeof(Entry) == 120);

  ArenaArray<Entry> entries_;
  std::uint64_t added_ = 0;
};

/// The points and the markers of a session, in arena memory. Control plane. Constant-initialized,
/// never destroyed.
class Timeline {
 public:
  constexpr Timeline() noexcept = default;

  /// Adds a point for the current heap (`Tracker::add_timeline_point`). Has no effect while another
  /// thread holds the control lock, to start, stop or dump.
  void add_point(const RecordedData& data) noexcept;
  /// Like `add_point`; the caller holds the control lock.
  void add_point_locked(const RecordedData& data) noexcept;

  /// Adds a marker. Thread-safe.
  void mark(std::string_view name) noexcept;

  /// Returns the points, oldest first. The caller holds the control lock.
  [[nodiscard]] const ArenaArray<TimelinePoint>& points() noexcept {
    return points_.get().points();
  }

  /// Visits the stored markers, oldest first. Returns the number of overwritten markers.
  std::uint64_t for_each_marker(
      FunctionRef<void(std::int64_t time_ns, std::string_view name)> visit) noexcept;

 private:
  struct Counts;

  static bool read_running(const RecordedData& data, TimelinePoint& point) noexcept;
  static void read_stopped(const RecordedData& data, TimelinePoint& point) noexcept;
  static void read_samples(const RecordedData& data, TimelinePoint& point) noexcept;
  static Counts read_all(const RecordedData& data) noexcept;

  NoDestroyLazy<TimelineRing> points_;
  FutexLock markers_lock_;
  NoDestroyLazy<MarkerRing> markers_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/timeline.hpp"
#endif
