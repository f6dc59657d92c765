/// What two captures of one stack have to agree on, and where they do not.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/stack/stack_capture.hpp"

namespace alloctap::testing {

/// A capture and what it wrote, leaf first.
struct SeenFrames {
  CapturedStack stack;
  std::span<const std::uintptr_t> frames;
};

/// How many captures were compared, and in what they differed. One may differ in several ways.
struct StackComparison {
  std::uint64_t captures = 0;
  std::uint64_t compared = 0;
  /// Compared captures that differ in anything.
  std::uint64_t different = 0;
  std::uint64_t different_depth = 0;
  std::uint64_t different_truncated = 0;
  std::uint64_t different_failed = 0;
  std::uint64_t different_frames = 0;
  /// The tested capture told a hash that is not that of its frames.
  std::uint64_t wrong_hash = 0;
  /// Of the compared: how many each policy counts as failed, and how many as truncated.
  std::uint64_t tested_failed = 0;
  std::uint64_t trusted_failed = 0;
  std::uint64_t truncated = 0;
  /// Of the compared: how many the trusted policy ended where the tested one went on by frame
  /// records.
  std::uint64_t by_records = 0;
  /// Frames that were compared, and the most of one stack.
  std::uint64_t frames = 0;
  std::uint64_t deepest = 0;
};

/// Two captures of one stack that differ, around the first frame that does.
struct StackDifference {
  /// How many frames there are to look at on each side.
  static constexpr std::size_t kMaxFrames = 24;
  /// How many of them are the last ones, further in, that both agree on.
  static constexpr std::size_t kCommonFrames = 8;

  CapturedStack tested;
  CapturedStack trusted;
  bool wrong_hash = false;
  /// The number of the first frame that differs; the smaller depth where none does.
  std::size_t first_different = 0;
  /// The number of the frame that `tested_frames` and `trusted_frames` begin with.
  std::size_t first_kept = 0;
  /// 0 where a stack has ended.
  std::array<std::uintptr_t, kMaxFrames> tested_frames{};
  std::array<std::uintptr_t, kMaxFrames> trusted_frames{};
};

/// The number of the first frame in which they differ; the smaller depth where there is none.
[[nodiscard]] inline std::size_t first_different_frame(const SeenFrames& tested,
                                                       const SeenFrames& trusted) noexcept {
  const auto both = std::min(tested.frames.size(), trusted.frames.size());
  const auto end = tested.frames.begin() + static_cast<std::ptrdiff_t>(both);
  const auto place = std::mismatch(tested.frames.begin(), end, trusted.frames.begin());
  return static_cast<std::size_t>(place.first - tested.frames.begin());
}

/// Whether the tested walk left code by its frame records, and the trusted one, which knows none,
/// ended there.
[[nodiscard]] inline bool goes_on_by_records(const SeenFrames& tested,
                                             const SeenFrames& trusted) noexcept {
  return tested.stack.by_records && trusted.stack.failed;
}

/// Whether they agree on every frame and on how the walk ended; where one goes on by frame records,
/// on every frame that the other has.
[[nodiscard]] inline bool same_stack(const SeenFrames& tested, const SeenFrames& trusted) noexcept {
  if (goes_on_by_records(tested, trusted)) {
    return first_different_frame(tested, trusted) == trusted.frames.size();
  }
  return tested.stack.truncated == trusted.stack.truncated &&
         tested.stack.failed == trusted.stack.failed &&
         std::equal(tested.frames.begin(), tested.frames.end(), trusted.frames.begin(),
                    trusted.frames.end());
}

/// What there is to see of two captures that differ.
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
