/// The frames with the highest values of a measure, such as duration or bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/zeroed_array.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// Per-stack sums of one frame over all threads. Bounded; stacks that do not fit are dropped.
/// Zero-initialized; accessed by one thread at a time.
class FrameStackSums {
 public:
  void add(const StackOfFrame& stack) noexcept;

  /// Copies the stacks with the highest `measure`, and the sum of the rest, to `frame`.
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

/// The `kMost` frames with the highest values of one measure. Ties keep the earlier frame; zeros
/// are never kept. Zero-initialized; accessed by one thread at a time.
class WorstFrames {
 public:
  static constexpr std::size_t kMost = 16;

  [[nodiscard]] bool admits(std::uint64_t measure) const noexcept { return measure > least_; }

  /// Adds a frame with an admitted `measure`; the caller fills in the result.
  [[nodiscard]] WorstFrame& add(std::uint64_t measure) noexcept;

  /// Appends the frames to `list`, worst first. Returns false if out of memory.
  [[nodiscard]] bool copy(ArenaArray<WorstFrame>& list) const noexcept;

 private:
  /// Returns the latest of the frames with the lowest measure.
  [[nodiscard]] std::size_t place_of_least() const noexcept;

  std::array<WorstFrame, kMost> frames_{};
  std::array<std::uint64_t, kMost> measures_{};
  std::size_t count_ = 0;
  /// Lowest measure in a full list; 0 before.
  std::uint64_t least_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/worst_frames.hpp"
#endif
