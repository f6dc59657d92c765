/// Function bodies of game/game_frame_log.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/game/game_frame_log.hpp"
#include "alloctap/game/thread_frames.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

ALLOCTAP_INLINE void FrameRowRing::push(const ThreadFrames& thread, FrameNumber present) noexcept {
  const FrameNumber frame = thread.totals.frame.load(std::memory_order_relaxed);
  std::uint64_t at = next_.fetch_add(thread.row_count(), std::memory_order_relaxed);
  thread.for_each_row([&](TagId tag, const FramePart& part) {
    rows_[at++ % kCapacity] = row_of(tag, part, frame, present);
  });
}

ALLOCTAP_INLINE FrameRow FrameRowRing::row_of(TagId tag, const FramePart& part, FrameNumber frame,
                                              FrameNumber present) noexcept {
  return {.frame = frame,
          .written = present,
          .counts = part.counts,
          .rise = static_cast<std::uint64_t>(part.highest),
          .tag = tag};
}

ALLOCTAP_INLINE FrameNumber FrameRowRing::first_complete() const noexcept {
  const std::uint64_t end = next_.load(std::memory_order_relaxed);
  // Adds 1: threads may reserve slots in a different order than they saw the frame end.
  return end <= kCapacity ? 1 : rows_[end % kCapacity].written + 1;
}

ALLOCTAP_INLINE bool FrameRowRing::copy(FrameNumber first,
                                        ArenaArray<FrameRow>& rows) const noexcept {
  const std::uint64_t end = next_.load(std::memory_order_relaxed);
  bool kept = true;
  for (std::uint64_t at = end - std::min<std::uint64_t>(end, kCapacity); at < end; ++at) {
    const FrameRow& row = rows_[at % kCapacity];
    if (row.frame >= first) kept = rows.push_back(row) && kept;
  }
  return kept;
}

ALLOCTAP_INLINE bool GameFrameLog::copy(FrameNumber first, FrameNumber end, std::int64_t to_wall_ns,
                                        FrameHistory& history) const noexcept {
  bool kept = true;
  for (FrameNumber number = first; number < end; ++number) {
    const Span& span = last_[number % kLastFrames];
    kept = history.last.push_back({.number = number,
                                   .begin_ns = span.begin_ns + to_wall_ns,
                                   .duration_ns = span.duration_ns}) &&
           kept;
  }
  history.histograms = histograms_;
  for (std::size_t i = 0; i < kFrameMeasures; ++i) {
    kept = worst_[i].copy(history.worst[i]) && kept;
    for (WorstFrame& frame : history.worst[i]) frame.begin_ns += to_wall_ns;
  }
  return kept;
}

ALLOCTAP_INLINE void GameFrameLog::keep(const Ended& frame, const SlowCall& slowest,
                                        FrameMeasure measure, WorstFrame& worst) noexcept {
  worst.number = frame.number;
  worst.begin_ns = frame.begin_ns;
  worst.duration_ns = frame.end_ns - frame.begin_ns;
  worst.counts = frame.counts;
  worst.slowest = slowest;
  stacks_.copy_most(measure, worst);
}

}  // namespace alloctap
