/// Whether what a stack holds grows, or only moves.
#pragma once

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
/// A warm-up has steps too, and ends. Growth has ended when nothing came for `kMaxGaps` times as
/// long as it usually takes from step to step, and dies down when a typical window of the younger
/// half brings less than `kLeastPace` of what a typical one of the older half did: a leak goes on
/// at its pace, what fills up to a limit slows down. Medians, so that a big load in a few windows
/// changes nothing.
class GrowthTest {
 public:
  static constexpr double kChanceOfStep = 0.6;
  static constexpr double kMaxGaps = 3;
  static constexpr double kLeastPace = 0.5;
  /// In complete windows; below, nothing is said.
  static constexpr std::size_t kFewestWindows = 8;

  [[nodiscard]] static GrowthFinding run(const GrowthSeries& series) noexcept;

  /// That of `steps` and more among as many moves as `steps` and `falls`.
  [[nodiscard]] static double chance_of(std::uint32_t steps, std::uint32_t falls) noexcept;

 private:
  static constexpr std::size_t kMost = GrowthSeries::kMaxWindows;

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

  static Moves look_at(const GrowthSeries& series) noexcept;

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
