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

/// A table with the sums of one frame for each stack, over all threads. Drops stacks beyond
/// `kMaxStacks`. Zero-initialized; accessed by one thread at a time.
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

/// The `kMaxCount` frames with the highest values of one measure. Prefers the earlier of frames
/// with equal values. Omits frames with the value 0. Zero-initialized; accessed by one thread at a
/// time.
class WorstFrames {
 public:
  static constexpr std::size_t kMaxCount = 16;

  [[nodiscard]] bool admits(std::uint64_t measure) const noexcept { return measure > least_; }

  /// Adds a frame with the value `measure`, for which `admits` must be true. If the list is full,
  /// replaces the frame with the lowest value. The caller fills in the returned entry.
  [[nodiscard]] WorstFrame& add(std::uint64_t measure) noexcept;

  /// Appends the frames to `list`, worst first. Returns false if out of memory.
  [[nodiscard]] bool copy(ArenaArray<WorstFrame>& list) const noexcept;

 private:
  /// Returns the index of the frame with the lowest value; among equal values, of the latest frame.
  [[nodiscard]] std::size_t place_of_least() const noexcept;

  std::array<WorstFrame, kMaxCount> frames_{};
  std::array<std::uint64_t, kMaxCount> measures_{};
  std::size_t count_ = 0;
  /// Lowest measure in the list if it is full; otherwise 0.
  std::uint64_t least_ = 0;
};

/// A lock-free ring buffer of `FrameRow`s. A thread pushes its rows of a frame at its first event
/// in a later frame. Threads may push concurrently. Constant-initialized.
class FrameRowRing {
 public:
  static constexpr std::size_t kCapacity = 32'768;

  /// Pushes the rows of `thread` for the frame of its last event; `present` is the current frame.
  /// Runs inside malloc. If the thread is suspended here while other threads fill the whole ring,
  /// the thread may overwrite some of their rows. No other data is affected.
  void push(const ThreadFrames& thread, FrameNumber present) noexcept;

  [[nodiscard]] static FrameRow row_of(TagId tag, const FramePart& part, FrameNumber frame,
                                       FrameNumber present) noexcept;

  /// Returns the first frame such that no row of that frame or a later one was overwritten.
  /// Requires a stopped world.
  [[nodiscard]] FrameNumber first_complete() const noexcept;

  /// Appends the rows of frame `first` and later frames to `rows`. Requires a stopped world.
  /// Returns false if out of memory.
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

  /// Adds a frame. If the frame is among the worst by any measure, calls
  /// `describe(FrameStackSums&)`, which must add the frame's stacks and return its slowest call.
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

  /// Copies the times of frames `[first, end)`, all histograms and the worst frames to `history`.
  /// Adds `to_wall_ns` to times, to get Unix time. Returns false if out of memory.
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
