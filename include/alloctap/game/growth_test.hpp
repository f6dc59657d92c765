/// Whether what a stack holds grows, or only moves.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "alloctap/game/growth_series.hpp"

namespace alloctap {

/// What a test of one series found.
struct GrowthFinding {
  /// Windows at which the stack came to a height that it had never had before and never left after.
  std::uint32_t steps = 0;
  /// Windows in which it held less than in the one before.
  std::uint32_t falls = 0;
  /// How probable that many steps are, at the most, where nothing grows; 1 where the growth has
  /// ended or dies down.
  double chance = 1;
  /// How much is kept of what comes in a mark.
  double bytes_per_mark = 0;
};

/// A sign test (Dixon and Mood 1946) on the floors of the last three quarters of all windows.
///
/// What goes up and down counts for nothing: a window counts for growth only where all floors from
/// it on are above all floors before it. So a cache that fills and is emptied has its first flank
/// alone, against all its falls; noise has next to no steps; of a vector that doubles each jump is
/// one step, and there are few, however large they are. Windows that bring nothing count on neither
/// side, so a leak of a block every few marks shows when enough blocks have come.
///
/// If a stack's floor moved up as often as down by chance, which is what a load that comes and
/// goes does at its worst (a random walk), the number of steps among steps and falls would be
/// binomial. Floors of neighbouring windows lean a little in one direction together, so each move
/// is taken to go up with a chance of `kChanceOfStep`, not of 1/2.
///
/// A warm-up has steps too, and ends. Growth has ended when nothing came for `kMostGaps` times as
/// long as it usually takes from step to step, and dies down when a typical window of the younger
/// half brings less than `kLeastPace` of what a typical one of the older half did: a leak goes on
/// at its pace, what fills up to a limit slows down. Medians, so that a big load in a few windows
/// changes nothing.
class GrowthTest {
 public:
  static constexpr double kChanceOfStep = 0.6;
  static constexpr double kMostGaps = 3;
  static constexpr double kLeastPace = 0.5;
  /// In complete windows; below, nothing is said.
  static constexpr std::size_t kFewestWindows = 8;

  [[nodiscard]] static GrowthFinding run(const GrowthSeries& series) noexcept {
    const std::span<const std::uint64_t> floors = series.floors();
    GrowthFinding finding;
    if (floors.size() < kFewestWindows) return finding;
    const Moves moves = look_at(series);
    finding.steps = moves.steps;
    finding.falls = moves.falls;
    const std::size_t first = first_counted(floors.size());
    const double marks = static_cast<double>((floors.size() - first) * series.marks_of_window());
    finding.bytes_per_mark =
        (static_cast<double>(moves.lasting) - static_cast<double>(floors[first - 1])) / marks;
    if (has_ended(moves) || dies_down(floors)) return finding;
    finding.chance = chance_of(moves.steps, moves.falls);
    return finding;
  }

  /// That of `steps` and more among as many moves as `steps` and `falls`.
  [[nodiscard]] static double chance_of(std::uint32_t steps, std::uint32_t falls) noexcept {
    const std::uint32_t moves = steps + falls;
    double term = std::pow(kChanceOfStep, moves);
    double sum = 0;
    for (std::uint32_t ups = moves; ups >= steps; --ups) {
      sum += term;
      if (ups == 0) break;
      term *= ups * (1 - kChanceOfStep) / ((moves - ups + 1) * kChanceOfStep);
    }
    return std::min(sum, 1.0);
  }

 private:
  static constexpr std::size_t kMost = GrowthSeries::kMostWindows;

  struct Moves {
    std::uint32_t steps = 0;
    std::uint32_t falls = 0;
    /// Counted windows, and those of them since the last step.
    std::uint32_t windows = 0;
    std::uint32_t windows_since_step = 0;
    /// The least that was held from the last window on.
    std::uint64_t lasting = 0;
  };

  /// All but the oldest quarter; not the first window, which nothing precedes.
  static std::size_t first_counted(std::size_t windows) noexcept { return windows / 4; }

  static Moves look_at(const GrowthSeries& series) noexcept {
    const std::span<const std::uint64_t> floors = series.floors();
    std::array<std::uint64_t, kMost + 1> least_from{};
    least_from[floors.size()] = series.open_floor();
    for (std::size_t i = floors.size(); i-- > 0;) {
      least_from[i] = std::min(floors[i], least_from[i + 1]);
    }
    Moves moves{.lasting = least_from[floors.size() - 1]};
    std::uint64_t most_before = floors[0];
    for (std::size_t i = 1; i < floors.size(); ++i) {
      if (i >= first_counted(floors.size())) {
        ++moves.windows;
        ++moves.windows_since_step;
        if (floors[i] < floors[i - 1]) ++moves.falls;
        if (least_from[i] > most_before) {
          ++moves.steps;
          moves.windows_since_step = 0;
        }
      }
      most_before = std::max(most_before, floors[i]);
    }
    return moves;
  }

  static bool has_ended(const Moves& moves) noexcept {
    return moves.steps == 0 ||
           static_cast<double>(moves.windows_since_step) * moves.steps > kMostGaps * moves.windows;
  }

  static bool dies_down(std::span<const std::uint64_t> floors) noexcept {
    const std::size_t half = floors.size() / 2;
    const double older = median_rise(floors.first(half + 1));
    return median_rise(floors.subspan(half)) < kLeastPace * older;
  }

  static double median_rise(std::span<const std::uint64_t> floors) noexcept {
    std::array<double, kMost> rises{};
    const std::size_t count = floors.size() - 1;
    for (std::size_t i = 0; i < count; ++i) {
      rises[i] = static_cast<double>(floors[i + 1]) - static_cast<double>(floors[i]);
    }
    const auto middle = rises.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(rises.begin(), middle, rises.begin() + static_cast<std::ptrdiff_t>(count));
    return *middle;
  }
};

}  // namespace alloctap
