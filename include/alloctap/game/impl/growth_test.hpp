/// Function bodies of game/growth_test.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/game/growth_series.hpp"
#include "alloctap/game/growth_test.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE GrowthFinding GrowthTest::run(const GrowthSeries& series) noexcept {
  const std::span<const std::uint64_t> floors = series.floors();
  GrowthFinding finding;
  if (floors.size() < kFewestWindows) return finding;
  const Moves moves = find_moves(series);
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

ALLOCTAP_INLINE double GrowthTest::chance_of(std::uint32_t steps, std::uint32_t falls) noexcept {
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

ALLOCTAP_INLINE GrowthTest::Moves GrowthTest::find_moves(const GrowthSeries& series) noexcept {
  const std::span<const std::uint64_t> floors = series.floors();
  std::array<std::uint64_t, kMaxCount + 1> least_from{};
  least_from[floors.size()] = series.open_floor();
  for (std::size_t i = floors.size(); i-- > 0;) {
    least_from[i] = std::min(floors[i], least_from[i + 1]);
  }
  Moves moves{.lasting = least_from[floors.size() - 1]};
  std::uint64_t max_before = floors[0];
  for (std::size_t i = 1; i < floors.size(); ++i) {
    if (i >= first_counted(floors.size())) {
      ++moves.windows;
      ++moves.windows_since_step;
      if (floors[i] < floors[i - 1]) ++moves.falls;
      if (least_from[i] > max_before) {
        ++moves.steps;
        moves.windows_since_step = 0;
      }
    }
    max_before = std::max(max_before, floors[i]);
  }
  return moves;
}

ALLOCTAP_INLINE bool GrowthTest::dies_down(std::span<const std::uint64_t> floors) noexcept {
  const std::size_t half = floors.size() / 2;
  const double older = median_rise(floors.first(half + 1));
  return median_rise(floors.subspan(half)) < kLeastPace * older;
}

ALLOCTAP_INLINE double GrowthTest::median_rise(std::span<const std::uint64_t> floors) noexcept {
  std::array<double, kMaxCount> rises{};
  const std::size_t count = floors.size() - 1;
  for (std::size_t i = 0; i < count; ++i) {
    rises[i] = static_cast<double>(floors[i + 1]) - static_cast<double>(floors[i]);
  }
  const auto middle = rises.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(rises.begin(), middle, rises.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

}  // namespace alloctap
