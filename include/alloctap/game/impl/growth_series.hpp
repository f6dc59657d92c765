/// Function bodies of game/growth_series.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/game/growth_series.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE void GrowthSeries::add(std::uint64_t live_bytes) noexcept {
  ++marks_;
  last_ = live_bytes;
  open_floor_ = std::min(open_floor_, live_bytes);
  if (++open_marks_ < marks_of_window_) return;
  floors_[windows_++] = open_floor_;
  open_floor_ = kNothingYet;
  open_marks_ = 0;
  if (windows_ == kMaxWindows) join_pairs();
}

ALLOCTAP_INLINE void GrowthSeries::join_pairs() noexcept {
  windows_ /= 2;
  for (std::size_t i = 0; i < windows_; ++i) {
    floors_[i] = std::min(floors_[2 * i], floors_[2 * i + 1]);
  }
  marks_of_window_ *= 2;
}

}  // namespace alloctap
