/// The frames of the past, in bounded memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/game/thread_frames.hpp"
#include "alloctap/game/worst_frames.hpp"
#include "alloctap/guard/arena_array.hpp"
#include "alloctap/guard/zeroed_array.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// The rows that threads wrote last. Each thread writes what it did in a frame when it meets the
/// next one; any number may do so at once. Constant-initialized.
class FrameRowRing {
 public:
  static constexpr std::size_t kCapacity = 32'768;

  /// `present`: the frame that the thread has just met. Inside malloc. A thread that stood still in
  /// here while all others wrote thousands of rows would spoil one of theirs; nothing worse.
  void push(const ThreadFrames& thread, FrameNumber present) noexcept {
    const FrameNumber frame = thread.totals.frame.load(std::memory_order_relaxed);
    std::uint64_t at = next_.fetch_add(thread.row_count(), std::memory_order_relaxed);
    thread.for_each_row([&](TagId tag, const FramePart& part) {
      rows_[at++ % kCapacity] = row_of(tag, part, frame, present);
    });
  }

  [[nodiscard]] static FrameRow row_of(TagId tag, const FramePart& part, FrameNumber frame,
                                       FrameNumber present) noexcept {
    return {.frame = frame,
            .written = present,
            .counts = part.counts,
            .rise = static_cast<std::uint64_t>(part.highest),
            .tag = tag};
  }

  /// Of this frame, and of all that followed, all rows are still there. The caller has closed the
  /// gate; so for `copy`.
  [[nodiscard]] FrameNumber first_complete() const noexcept {
    const std::uint64_t end = next_.load(std::memory_order_relaxed);
    // Two threads may take their places in the other order than they saw the frame end.
    return end <= kCapacity ? 1 : rows_[end % kCapacity].written + 1;
  }

  /// Appends the rows of frame `first` and later ones; false where the system has no memory.
  [[nodiscard]] bool copy(FrameNumber first, ArenaArray<FrameRow>& rows) const noexcept {
    const std::uint64_t end = next_.load(std::memory_order_relaxed);
    bool kept = true;
    for (std::uint64_t at = end - std::min<std::uint64_t>(end, kCapacity); at < end; ++at) {
      const FrameRow& row = rows_[at % kCapacity];
      if (row.frame >= first) kept = rows.push_back(row) && kept;
    }
    return kept;
  }

 private:
  std::atomic<std::uint64_t> next_{0};
  ZeroedArray<FrameRow, kCapacity> rows_;
};

/// What is kept of frames that have ended: the times of the last ones, and of all of them
/// histograms and the worst. Begins as zeros; used by one thread at a time.
class FrameLog {
 public:
  static constexpr std::size_t kLastFrames = 4096;

  /// A frame that has ended; times are of `os::monotonic_ns`.
  struct Ended {
    FrameNumber number = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    FrameCounts counts{};
  };

  /// `describe(FrameStackSums&)` adds the stacks of the frame and returns its slowest call; it is
  /// called where the frame is one of the worst.
  template <class Describe>
  void add(const Ended& frame, Describe&& describe) noexcept {
    const std::int64_t duration = frame.end_ns - frame.begin_ns;
    last_[frame.number % kLastFrames] = {frame.begin_ns, duration};
    bool is_described = false;
    SlowCall slowest{};
    for (std::size_t i = 0; i < kFrameMeasures; ++i) {
      const auto measure = static_cast<FrameMeasure>(i);
      const std::uint64_t amount = measured(frame.counts, duration, measure);
      ++histograms_[i][static_cast<std::size_t>(std::bit_width(amount))];
      if (!worst_[i].admits(amount)) continue;
      if (!is_described) slowest = describe(stacks_);
      is_described = true;
      keep(frame, slowest, measure, worst_[i].add(amount));
    }
    if (is_described) stacks_.clear();
  }

  /// The frames from `first` to `end`, which is none of them. `to_wall_ns`: what is to be added to
  /// the times of frames to have those of the Unix epoch. False where the system has no memory.
  [[nodiscard]] bool copy(FrameNumber first, FrameNumber end, std::int64_t to_wall_ns,
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

 private:
  struct Span {
    std::int64_t begin_ns = 0;
    std::int64_t duration_ns = 0;
  };

  void keep(const Ended& frame, const SlowCall& slowest, FrameMeasure measure,
            WorstFrame& worst) noexcept {
    worst.number = frame.number;
    worst.begin_ns = frame.begin_ns;
    worst.duration_ns = frame.end_ns - frame.begin_ns;
    worst.counts = frame.counts;
    worst.slowest = slowest;
    stacks_.copy_most(measure, worst);
  }

  ZeroedArray<Span, kLastFrames> last_;
  std::array<FrameHistogram, kFrameMeasures> histograms_{};
  std::array<WorstFrames, kFrameMeasures> worst_{};
  FrameStackSums stacks_;
};

}  // namespace alloctap
