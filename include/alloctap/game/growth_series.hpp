/// What one stack held over time, in a few numbers, however long that is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace alloctap {

/// Live bytes at marks, cut into windows of as many marks each. Of a window its floor is kept, the
/// least that was held in it: what comes and goes inside of a window is not in it, what stays is.
/// When there are `kMaxWindows`, each two become one, so that there are always the younger and
/// the older half of all of them, in a window for each few marks. Half a KiB; trivially copyable.
class GrowthSeries {
 public:
  static constexpr std::size_t kMaxWindows = 64;

  void add(std::uint64_t live_bytes) noexcept;

  [[nodiscard]] std::uint64_t marks() const noexcept { return marks_; }

  /// What was held at the youngest mark, in bytes.
  [[nodiscard]] std::uint64_t last() const noexcept { return last_; }

  /// Of complete windows, the oldest first, in bytes.
  [[nodiscard]] std::span<const std::uint64_t> floors() const noexcept {
    return {floors_.data(), windows_};
  }

  /// The least that was held since the youngest complete window.
  [[nodiscard]] std::uint64_t open_floor() const noexcept { return open_floor_; }

  [[nodiscard]] std::uint64_t marks_of_window() const noexcept { return marks_of_window_; }

 private:
  static constexpr std::uint64_t kNothingYet = std::numeric_limits<std::uint64_t>::max();

  void join_pairs() noexcept;

  std::array<std::uint64_t, kMaxWindows> floors_{};
  std::size_t windows_ = 0;
  std::uint64_t marks_of_window_ = 1;
  std::uint64_t open_marks_ = 0;
  std::uint64_t open_floor_ = kNothingYet;
  std::uint64_t marks_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/growth_series.hpp"
#endif
