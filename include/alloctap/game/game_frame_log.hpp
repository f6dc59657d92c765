/// The frames of the past, in bounded memory.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/game/thread_frames.hpp"
#include "alloctap/game/worst_frames.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/zeroed_array.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// The rows that threads wrote last. Each thread writes what it did in a frame when it meets the
/// next one; any number may do so at once. Constant-initialized.
class FrameRowRing {
 public:
  static constexpr std::size_t kCapacity = 32'768;

  /// `present`: the frame that the thread has just met. Inside malloc. A thread that stood still in
  /// here while all others wrote thousands of rows would spoil one of theirs; nothing worse.
  void push(const ThreadFrames& thread, FrameNumber present) noexcept;

  [[nodiscard]] static FrameRow row_of(TagId tag, const FramePart& part, FrameNumber frame,
                                       FrameNumber present) noexcept;

  /// Of this frame, and of all that followed, all rows are still there. The caller has closed the
  /// gate; so for `copy`.
  [[nodiscard]] FrameNumber first_complete() const noexcept;

  /// Appends the rows of frame `first` and later ones; false where the system has no memory.
  [[nodiscard]] bool copy(FrameNumber first, ArenaArray<FrameRow>& rows) const noexcept;

 private:
  std::atomic<std::uint64_t> next_{0};
  ZeroedArray<FrameRow, kCapacity> rows_;
};

/// What is kept of frames that have ended: the times of the last ones, and of all of them
/// histograms and the worst. Begins as zeros; used by one thread at a time.
class GameFrameLog {
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
                          FrameHistory& history) const noexcept;

 private:
  struct Span {
    std::int64_t begin_ns = 0;
    std::int64_t duration_ns = 0;
  };

  void keep(const Ended& frame, const SlowCall& slowest, FrameMeasure measure,
            WorstFrame& worst) noexcept;

  ZeroedArray<Span, kLastFrames> last_;
  std::array<FrameHistogram, kFrameMeasures> histograms_{};
  std::array<WorstFrames, kFrameMeasures> worst_{};
  FrameStackSums stacks_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/game_frame_log.hpp"
#endif
