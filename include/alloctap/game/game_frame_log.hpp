/// Bounded history of past game frames.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/game/thread_frames.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// Per-stack sums of one frame over all threads, in a bounded table; stacks that do not fit are
/// dropped. Zero-initialized; accessed by one thread at a time.
class FrameStackSums {
 public:
  void add(const StackOfFrame& stack) noexcept;

  /// Copies to `frame` the stacks with the highest `measure`, and the sum of all others.
  void copy_most(FrameMeasure measure, WorstFrame& frame) noexcept;

  void clear() noexcept {
    for (std::size_t i = 0; i < used_count_; ++i) places_[used_[i]] = {};
    used_count_ = 0;
  }

 private:
  static constexpr std::size_t kPlaces = 2048;
  static constexpr std::size_t kMaxStacks = kPlaces / 2;

  bool take(std::size_t at, StackId stack) noexcept;

  static bool has_more(FrameMeasure measure, const StackOfFrame& a, const StackOfFrame& b) noexcept;

  static void take_away(StackOfFrame& rest, const StackOfFrame& shown) noexcept;

  ZeroedArray<StackOfFrame, kPlaces> places_;
  std::array<std::uint16_t, kMaxStacks> used_{};
  std::size_t used_count_ = 0;
};

/// The `kMaxCount` frames with the highest values of one measure. If values are equal, the earlier
/// frame stays. Omits frames with a value of 0. Zero-initialized; accessed by one thread at a time.
class WorstFrames {
 public:
  static constexpr std::size_t kMaxCount = 16;

  [[nodiscard]] bool admits(std::uint64_t measure) const noexcept { return measure > least_; }

  /// Adds a frame for whose value `admits` returned true; the caller fills in the entry.
  [[nodiscard]] WorstFrame& add(std::uint64_t measure) noexcept;

  /// Appends the frames to `list`, worst first. Returns false if out of memory.
  [[nodiscard]] bool copy(ArenaArray<WorstFrame>& list) const noexcept;

 private:
  /// Returns the index of the frame with the lowest value; the latest of them if several are equal.
  [[nodiscard]] std::size_t place_of_least() const noexcept;

  std::array<WorstFrame, kMaxCount> frames_{};
  std::array<std::uint64_t, kMaxCount> measures_{};
  std::size_t count_ = 0;
  /// Lowest measure in the list if it is full; otherwise 0.
  std::uint64_t least_ = 0;
};

/// A lock-free ring buffer of the latest rows. A thread pushes its rows of a frame at its first
/// event in a later frame. Threads may push concurrently. Constant-initialized.
class FrameRowRing {
 public:
  static constexpr std::size_t kCapacity = 32'768;

  /// Pushes the rows of the thread's last frame; `present` is the current frame. Runs inside
  /// malloc. If the thread is suspended here while other threads fill the whole ring, it can
  /// overwrite one of their rows. No other data is affected.
  void push(const ThreadFrames& thread, FrameNumber present) noexcept;

  [[nodiscard]] static FrameRow row_of(TagId tag, const FramePart& part, FrameNumber frame,
                                       FrameNumber present) noexcept;

  /// Returns the first frame from which on the ring still has the rows of every frame. Requires a
  /// stopped world.
  [[nodiscard]] FrameNumber first_complete() const noexcept;

  /// Appends the rows from frame `first` on. Requires a stopped world. Returns false if out of
  /// memory.
  [[nodiscard]] bool copy(FrameNumber first, ArenaArray<FrameRow>& rows) const noexcept;

 private:
  std::atomic<std::uint64_t> next_{0};
  ZeroedArray<FrameRow, kCapacity> rows_;
};

/// The history of ended frames: times of the latest frames, histograms of all, and the worst
/// frames. Zero-initialized; accessed by one thread at a time.
class GameFrameLog {
 public:
  static constexpr std::size_t kLastFrames = 4096;

  /// A frame that has ended. Times are those of `os::monotonic_ns`.
  struct Ended {
    FrameNumber number = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    FrameCounts counts{};
  };

  /// Adds a frame. If it is among the worst, calls `describe(FrameStackSums&)`, which adds the
  /// stacks of the frame and returns its slowest call.
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

  /// Copies the frames `[first, end)`. Converts their times to the Unix epoch by adding
  /// `to_wall_ns`. Returns false if out of memory.
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
