/// A bounded time series of the live bytes of one stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace alloctap {

/// Live bytes of one stack at marks, reduced to the minimum (floor) of each window of several
/// marks. Temporary allocations within a window do not raise its floor; permanent ones do. When
/// `kMaxWindows` windows are full, adjacent pairs merge, so the series always covers the whole run.
/// Takes half a KiB; trivially copyable.
class GrowthSeries {
 public:
  static constexpr std::size_t kMaxWindows = 64;

  void add(std::uint64_t live_bytes) noexcept;

  [[nodiscard]] std::uint64_t marks() const noexcept { return marks_; }

  /// Returns the live bytes at the latest mark.
  [[nodiscard]] std::uint64_t last() const noexcept { return last_; }

  /// Returns the minimum of each complete window in bytes, oldest first.
  [[nodiscard]] std::span<const std::uint64_t> floors() const noexcept {
    return {floors_.data(), windows_};
  }

  /// Returns the minimum in the current, incomplete window.
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
