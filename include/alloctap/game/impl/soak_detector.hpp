/// Definitions for game/soak_detector.hpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "alloctap/game/soak_detector.hpp"
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

ALLOCTAP_INLINE Status SoakDetector::add(const Snapshot& snapshot) {
  const std::lock_guard hold(lock_);
  if (table_ != nullptr && snapshot.table != table_) {
    return Status::invalid_argument(
        "SoakDetector: this snapshot is of another tracker than the marks before");
  }
  if (snapshot.totals.allocations < allocations_) {
    return Status::failed_precondition(
        "SoakDetector: this snapshot is older than the last mark; it is passed over");
  }
  table_ = snapshot.table;
  allocations_ = snapshot.totals.allocations;
  const bool looks = marks_ > 0 && marks_ >= options_.warm_up_marks;
  ++marks_;
  if (looks && !add_stacks(snapshot)) return no_memory();
  if (!note_held(snapshot)) return no_memory();
  return Status();
}

ALLOCTAP_INLINE Result<ArenaArray<SoakSuspect>> SoakDetector::suspects() const {
  const std::lock_guard hold(lock_);
  ArenaArray<SoakSuspect> suspects;
  for (const Watched& watched : watched_) {
    const SoakSuspect suspect = judge(watched);
    if (suspect.marks < options_.fewest_marks || suspect.finding.chance >= 1) continue;
    if (suspect.confidence < options_.confidence) continue;
    if (!suspects.push_back(suspect)) return no_memory();
  }
  std::sort(suspects.begin(), suspects.end(), [](const SoakSuspect& a, const SoakSuspect& b) {
    return a.confidence != b.confidence ? a.confidence > b.confidence
                                        : a.bytes_per_mark > b.bytes_per_mark;
  });
  return suspects;
}

ALLOCTAP_INLINE bool SoakDetector::add_stacks(const Snapshot& snapshot) {
  if (left_out_ > 0) forget_idle_stacks();
  left_out_ = 0;
  first_left_out_ = kNoStackId;
  const std::size_t known = watched_.size();
  std::size_t at = 0;
  bool complete = true;
  for (const StackSummary& stack : snapshot.stacks) {
    while (at < known && watched_[at].stack < stack.stack) ++at;
    if (at < known && watched_[at].stack == stack.stack) {
      watched_[at].series.add(stack.live_bytes);
    } else if (has_grown(stack)) {
      complete = watch(stack) && complete;
    }
  }
  admit_from_ = first_left_out_;
  std::sort(watched_.begin(), watched_.end(),
            [](const Watched& a, const Watched& b) { return a.stack < b.stack; });
  return complete;
}

ALLOCTAP_INLINE bool SoakDetector::watch(const StackSummary& stack) noexcept {
  if (watched_.size() >= options_.most_stacks || stack.stack < admit_from_) {
    ++left_out_;
    if (first_left_out_ == kNoStackId && stack.stack >= admit_from_) {
      first_left_out_ = stack.stack;
    }
    return true;
  }
  Watched watched;
  watched.stack = stack.stack;
  watched.first_bytes = held_by(stack.stack);
  watched.series.add(watched.first_bytes);
  watched.series.add(stack.live_bytes);
  return watched_.push_back(watched);
}

ALLOCTAP_INLINE void SoakDetector::forget_idle_stacks() noexcept {
  Watched* end = std::remove_if(watched_.begin(), watched_.end(), [](const Watched& watched) {
    return watched.series.last() <= watched.first_bytes;
  });
  static_cast<void>(watched_.resize(static_cast<std::size_t>(end - watched_.begin())));
}

ALLOCTAP_INLINE bool SoakDetector::note_held(const Snapshot& snapshot) noexcept {
  if (snapshot.stacks.empty()) return true;
  const std::size_t last = snapshot.stacks[snapshot.stacks.size() - 1].stack;
  if (last >= held_.size() && !held_.resize(last + 1)) return false;
  for (const StackSummary& stack : snapshot.stacks) held_[stack.stack] = stack.live_bytes;
  return true;
}

ALLOCTAP_INLINE SoakSuspect SoakDetector::judge(const Watched& watched) const noexcept {
  const GrowthFinding finding = GrowthTest::run(watched.series);
  return {.stack = watched.stack,
          .confidence = 1 - std::min(1.0, finding.chance * static_cast<double>(watched_.size())),
          .bytes_per_mark = finding.bytes_per_mark,
          .first_bytes = watched.first_bytes,
          .last_bytes = watched.series.last(),
          .marks = watched.series.marks(),
          .finding = finding};
}

}  // namespace alloctap
