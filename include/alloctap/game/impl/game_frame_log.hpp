/// The bodies of game/game_frame_log.hpp.
#pragma once

#include <algorithm>
#include <tuple>

#include "alloctap/game/game_frame_log.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE void FrameStackSums::add(const StackOfFrame& stack) noexcept {
  for (std::size_t at = stack.stack % kPlaces;; at = (at + 1) % kPlaces) {
    StackOfFrame& sum = places_[at];
    if (sum.stack == kNoStackId && !take(at, stack.stack)) return;
    if (sum.stack != stack.stack) continue;
    sum.allocations += stack.allocations;
    sum.allocated_bytes += stack.allocated_bytes;
    sum.allocator_ns += stack.allocator_ns;
    return;
  }
}

ALLOCTAP_INLINE void FrameStackSums::copy_most(FrameMeasure measure, WorstFrame& frame) noexcept {
  const auto* end = used_.data() + used_count_;
  std::sort(used_.data(), used_.data() + used_count_, [&](std::uint16_t a, std::uint16_t b) {
    return has_more(measure, places_[a], places_[b]);
  });
  frame.other_stacks = {.allocations = frame.counts.allocations,
                        .allocated_bytes = frame.counts.allocated_bytes,
                        .allocator_ns = frame.counts.allocator_ns};
  frame.stack_count = 0;
  for (const auto* at = used_.data(); at != end && frame.stack_count < WorstFrame::kMaxStacks;
       ++at) {
    frame.stacks[frame.stack_count++] = places_[*at];
    take_away(frame.other_stacks, places_[*at]);
  }
}

ALLOCTAP_INLINE bool FrameStackSums::take(std::size_t at, StackId stack) noexcept {
  if (used_count_ == kMaxStacks) return false;
  used_[used_count_++] = static_cast<std::uint16_t>(at);
  places_[at].stack = stack;
  return true;
}

ALLOCTAP_INLINE bool FrameStackSums::has_more(FrameMeasure measure, const StackOfFrame& a,
                                              const StackOfFrame& b) noexcept {
  const auto rank = [&](const StackOfFrame& stack) {
    const std::uint64_t by_count = measure == FrameMeasure::kAllocations ? stack.allocations : 0;
    const std::uint64_t by_time = measure >= FrameMeasure::kAllocatorTime ? stack.allocator_ns : 0;
    return std::tuple(by_count, by_time, stack.allocated_bytes, stack.allocations, ~stack.stack);
  };
  return rank(a) > rank(b);
}

ALLOCTAP_INLINE void FrameStackSums::take_away(StackOfFrame& rest,
                                               const StackOfFrame& shown) noexcept {
  rest.allocations -= std::min(rest.allocations, shown.allocations);
  rest.allocated_bytes -= std::min(rest.allocated_bytes, shown.allocated_bytes);
  rest.allocator_ns -= std::min(rest.allocator_ns, shown.allocator_ns);
}

ALLOCTAP_INLINE WorstFrame& WorstFrames::add(std::uint64_t measure) noexcept {
  const std::size_t at = count_ < kMaxCount ? count_++ : place_of_least();
  measures_[at] = measure;
  if (count_ == kMaxCount) least_ = measures_[place_of_least()];
  return frames_[at];
}

ALLOCTAP_INLINE bool WorstFrames::copy(ArenaArray<WorstFrame>& list) const noexcept {
  std::array<std::size_t, kMaxCount> order{};
  for (std::size_t i = 0; i < count_; ++i) order[i] = i;
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count_),
            [&](std::size_t a, std::size_t b) {
              return measures_[a] != measures_[b] ? measures_[a] > measures_[b]
                                                  : frames_[a].number < frames_[b].number;
            });
  bool kept = true;
  for (std::size_t i = 0; i < count_; ++i) kept = list.push_back(frames_[order[i]]) && kept;
  return kept;
}

ALLOCTAP_INLINE std::size_t WorstFrames::place_of_least() const noexcept {
  std::size_t least = 0;
  for (std::size_t i = 1; i < count_; ++i) {
    const bool is_later = frames_[i].number > frames_[least].number;
    if (measures_[i] < measures_[least] || (measures_[i] == measures_[least] && is_later)) {
      least = i;
    }
  }
  return least;
}

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
  // Overwritten rows belong to frames before the oldest row's `written`. Adds 1, because threads
  // may reserve slots out of frame order.
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
