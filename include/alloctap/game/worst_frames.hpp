/// The frames that had most of something.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/zeroed_array.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// Sums of what the stacks of several threads did in one frame. Bounded: stacks that find no room
/// are left out. Begins as zeros; used by one thread at a time.
class FrameStackSums {
 public:
  void add(const StackOfFrame& stack) noexcept;

  /// Those that have most of `measure`, and the rest of the frame.
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

/// Keeps the `kMost` frames that have most of one measure. Of those that have as much the earlier
/// stay; those that have none never come in. Begins as zeros; used by one thread at a time.
class WorstFrames {
 public:
  static constexpr std::size_t kMost = 16;

  [[nodiscard]] bool admits(std::uint64_t measure) const noexcept { return measure > least_; }

  /// `measure` is one that is admitted; the caller fills in the frame.
  [[nodiscard]] WorstFrame& add(std::uint64_t measure) noexcept;

  /// Appends them to `list`, the worst first; false where the system has no memory.
  [[nodiscard]] bool copy(ArenaArray<WorstFrame>& list) const noexcept;

 private:
  /// Of those that have as little, the latest.
  [[nodiscard]] std::size_t place_of_least() const noexcept;

  std::array<WorstFrame, kMost> frames_{};
  std::array<std::uint64_t, kMost> measures_{};
  std::size_t count_ = 0;
  /// The least measure of a full list.
  std::uint64_t least_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/worst_frames.hpp"
#endif
