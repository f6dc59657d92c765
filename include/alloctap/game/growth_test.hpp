/// A statistical test that distinguishes memory growth from fluctuation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "alloctap/game/growth_series.hpp"

namespace alloctap {

/// The result of a test on one series.
struct GrowthFinding {
  /// Number of windows after whose start every floor exceeds every earlier floor.
  std::uint32_t steps = 0;
  /// Number of windows whose floor is below the previous window's.
  std::uint32_t falls = 0;
  /// Upper bound of the p-value: the probability of so many steps in memory that does not grow. 1
  /// if the growth has ended or is slowing.
  double chance = 1;
  /// Average growth per mark, without growth that was undone later.
  double bytes_per_mark = 0;
};

/// A sign test (Dixon and Mood 1946) on the floors (minima) of the last three quarters of all
/// windows.
///
/// A window counts as a step only if its floor and all later floors exceed all earlier floors. So a
/// cache that fills and is cleared has one step against many falls; noise has almost no steps. A
/// doubling vector has few steps, however large they are. A window without change is neither step
/// nor fall, so a leak of one block every few marks is found once enough blocks have accumulated.
///
/// Under the null hypothesis a floor rises as often as it falls: at worst a random walk. The number
/// of steps among steps and falls is then binomial. Adjacent floors are slightly correlated, so the
/// test assumes a step probability of `kChanceOfStep` instead of 1/2.
///
/// Memory also steps up during a warm-up, but then stays level. Growth has ended if the last step
/// is more than `kMaxGaps` times the usual distance of steps ago. Growth is slowing if the median
/// rise of the newer half is below `kLeastPace` times that of the older half. A leak grows
/// steadily; a cache that fills up slows down. Medians make the test robust against a few large
/// loads.
class GrowthTest {
 public:
  static constexpr double kChanceOfStep = 0.6;
  static constexpr double kMaxGaps = 3;
  static constexpr double kLeastPace = 0.5;
  /// Minimum number of complete windows for a result.
  static constexpr std::size_t kFewestWindows = 8;

  [[nodiscard]] static GrowthFinding run(const GrowthSeries& series) noexcept;

  /// Returns the binomial probability of at least `steps` successes in `steps + falls` trials.
  [[nodiscard]] static double chance_of(std::uint32_t steps, std::uint32_t falls) noexcept;

 private:
  static constexpr std::size_t kMaxCount = GrowthSeries::kMaxWindows;

  struct Moves {
    std::uint32_t steps = 0;
    std::uint32_t falls = 0;
    /// Number of tested windows, and number of tested windows after the last step.
    std::uint32_t windows = 0;
    std::uint32_t windows_since_step = 0;
    /// Minimum over the last complete window and all later marks.
    std::uint64_t lasting = 0;
  };

  /// Skips the oldest quarter of windows. The first window is never tested: it has no predecessor.
  static std::size_t first_counted(std::size_t windows) noexcept { return windows / 4; }

  static Moves find_moves(const GrowthSeries& series) noexcept;

  static bool has_ended(const Moves& moves) noexcept {
    return moves.steps == 0 ||
           static_cast<double>(moves.windows_since_step) * moves.steps > kMaxGaps * moves.windows;
  }

  static bool dies_down(std::span<const std::uint64_t> floors) noexcept;

  static double median_rise(std::span<const std::uint64_t> floors) noexcept;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/growth_test.hpp"
#endif
