/// Comparison of two captures of one stack.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/stack/stack_capture.hpp"

namespace alloctap::testing {

/// A capture and its frames, leaf first.
struct SeenFrames {
  CapturedStack stack;
  std::span<const std::uintptr_t> frames;
};

/// Numbers of compared captures and of differences. One capture may differ in several ways.
struct StackComparison {
  std::uint64_t captures = 0;
  std::uint64_t compared = 0;
  /// Compared captures with any difference.
  std::uint64_t different = 0;
  std::uint64_t different_depth = 0;
  std::uint64_t different_truncated = 0;
  std::uint64_t different_failed = 0;
  std::uint64_t different_frames = 0;
  /// Captures with a hash that does not match their frames.
  std::uint64_t wrong_hash = 0;
  /// Compared captures that each policy marks as failed, and those truncated.
  std::uint64_t tested_failed = 0;
  std::uint64_t trusted_failed = 0;
  std::uint64_t truncated = 0;
  /// Compared captures that the trusted policy ended early, but the tested one continued by frame
  /// pointers.
  std::uint64_t by_records = 0;
  /// Number of compared frames, and the maximum depth.
  std::uint64_t frames = 0;
  std::uint64_t deepest = 0;
};

/// An excerpt of two different captures around their first different frame.
struct StackDifference {
  /// Maximum number of frames in the excerpt.
  static constexpr std::size_t kMaxFrames = 24;
  /// Number of equal frames before the first difference.
  static constexpr std::size_t kCommonFrames = 8;

  CapturedStack tested;
  CapturedStack trusted;
  bool wrong_hash = false;
  /// Index of the first different frame; the smaller depth if all common frames are equal.
  std::size_t first_different = 0;
  /// Index of the first frame in the excerpt.
  std::size_t first_kept = 0;
  /// 0 beyond the end of a stack.
  std::array<std::uintptr_t, kMaxFrames> tested_frames{};
  std::array<std::uintptr_t, kMaxFrames> trusted_frames{};
};

/// Returns the index of the first different frame, or the smaller depth.
[[nodiscard]] inline std::size_t first_different_frame(const SeenFrames& tested,
                                                       const SeenFrames& trusted) noexcept {
  const auto both = std::min(tested.frames.size(), trusted.frames.size());
  const auto end = tested.frames.begin() + static_cast<std::ptrdiff_t>(both);
  const auto place = std::mismatch(tested.frames.begin(), end, trusted.frames.begin());
  return static_cast<std::size_t>(place.first - tested.frames.begin());
}

/// Returns true if the tested walk continued by frame pointers through code without unwind rows,
/// which ended the trusted walk.
[[nodiscard]] inline bool goes_on_by_records(const SeenFrames& tested,
                                             const SeenFrames& trusted) noexcept {
  return tested.stack.by_records && trusted.stack.failed;
}

/// Returns true if frames and end of both walks are equal. If `tested` continued by frame pointers,
/// compares only the frames that both have.
[[nodiscard]] inline bool same_stack(const SeenFrames& tested, const SeenFrames& trusted) noexcept {
  if (goes_on_by_records(tested, trusted)) {
    return first_different_frame(tested, trusted) == trusted.frames.size();
  }
  return tested.stack.truncated == trusted.stack.truncated &&
         tested.stack.failed == trusted.stack.failed &&
         std::equal(tested.frames.begin(), tested.frames.end(), trusted.frames.begin(),
                    trusted.frames.end());
}

/// Returns an excerpt around the first difference.
[[nodiscard]] inline StackDifference describe_difference(const SeenFrames& tested,
                                                         const SeenFrames& trusted) noexcept {
  StackDifference difference;
  difference.tested = tested.stack;
  difference.trusted = trusted.stack;
  difference.first_different = first_different_frame(tested, trusted);
  difference.first_kept =
      difference.first_different - std::min(difference.first_different, difference.kCommonFrames);
  const auto keep = [&](std::span<const std::uintptr_t> frames, auto& kept) {
    const auto tail = frames.subspan(std::min(difference.first_kept, frames.size()));
    std::copy_n(tail.begin(), std::min(tail.size(), kept.size()), kept.begin());
  };
  keep(tested.frames, difference.tested_frames);
  keep(trusted.frames, difference.trusted_frames);
  return difference;
}

}  // namespace alloctap::testing
