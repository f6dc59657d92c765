/// A stack capture policy that compares two others, to verify one of them in real programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace alloctap::testing {

/// A captured stack and its frames, leaf first.
struct SeenFrames {
  CapturedStack stack;
  std::span<const std::uintptr_t> frames;
};

/// Numbers of compared captures and of differences. One capture may count as several differences.
struct StackComparison {
  std::uint64_t captures = 0;
  std::uint64_t compared = 0;
  /// Compared captures with at least one difference.
  std::uint64_t different = 0;
  std::uint64_t different_depth = 0;
  std::uint64_t different_truncated = 0;
  std::uint64_t different_failed = 0;
  std::uint64_t different_frames = 0;
  /// Captures in which the hash from the tested policy is not the hash of the captured frames.
  std::uint64_t wrong_hash = 0;
  /// Compared captures that the tested or the trusted policy marks as failed or truncated.
  std::uint64_t tested_failed = 0;
  std::uint64_t trusted_failed = 0;
  std::uint64_t truncated = 0;
  /// Compared captures in which the tested policy continued by frame pointers where the trusted
  /// policy ended.
  std::uint64_t by_records = 0;
  /// Number of compared frames, and the maximum depth of a stack.
  std::uint64_t frames = 0;
  std::uint64_t deepest = 0;
};

/// An excerpt of two captures that differ, around their first different frame.
struct StackDifference {
  /// Maximum number of frames in the excerpt.
  static constexpr std::size_t kMaxFrames = 24;
  /// Maximum number of equal frames shown before the first difference.
  static constexpr std::size_t kCommonFrames = 8;

  CapturedStack tested;
  CapturedStack trusted;
  bool wrong_hash = false;
  /// Index of the first different frame. If one stack is a prefix of the other, the smaller depth.
  std::size_t first_different = 0;
  /// Index, in the stacks, of the excerpt's first frame.
  std::size_t first_kept = 0;
  /// The frames of the excerpt; 0 beyond the end of a stack.
  std::array<std::uintptr_t, kMaxFrames> tested_frames{};
  std::array<std::uintptr_t, kMaxFrames> trusted_frames{};
};

/// Returns the index of the first different frame; the smaller depth if there is no such frame.
[[nodiscard]] inline std::size_t first_different_frame(const SeenFrames& tested,
                                                       const SeenFrames& trusted) noexcept {
  const auto both = std::min(tested.frames.size(), trusted.frames.size());
  const auto end = tested.frames.begin() + static_cast<std::ptrdiff_t>(both);
  const auto place = std::mismatch(tested.frames.begin(), end, trusted.frames.begin());
  return static_cast<std::size_t>(place.first - tested.frames.begin());
}

/// Returns true if the trusted walk ended at code without unwind tables, and the tested walk
/// continued there by frame pointers.
[[nodiscard]] inline bool goes_on_by_records(const SeenFrames& tested,
                                             const SeenFrames& trusted) noexcept {
  return tested.stack.by_records && trusted.stack.failed;
}

/// Returns true if both walks have equal frames and ended equally. If the trusted walk ended early
/// and `tested` continued by frame pointers, ignores the additional frames.
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

/// Captures with `Trusted` and `Tested` and counts their differences in depth, frames, `truncated`
/// and `failed`. If `Tested` supplies a hash, also compares the hash. If `Trusted` fails and
/// `Tested` continues by frame pointers, ignores the additional frames. Stores the first
/// differences. Returns the capture of `Tested`.
///
///     struct CheckedConfig : alloctap::DefaultConfig {
///       using Stack = alloctap::testing::ComparingStack<MyStack, alloctap::BacktraceStack>;
///     };
///
/// Runs inside malloc; costs the sum of both captures. All static and thread-safe: each pair of
/// types has one set of counts per process. A forked child continues its parent's counts.
template <StackCapture Tested, StackCapture Trusted>
struct ComparingStack {
  static constexpr std::string_view name = "comparing";
  static constexpr StackFeatures features{.forget_unloaded_modules = true};
  /// Maximum number of stored differences.
  static constexpr std::size_t kMaxKept = 16;

  static IdentifiedStack identify(ThreadState& thread, const CallOrigin& origin,
                                  std::uint32_t max_frames) noexcept {
    Room* room = is_due() ? PerThread<Room>::of(thread) : nullptr;
    // `Trusted` captures first, because it may overwrite the buffer in which `Tested` returns
    // frames.
    CapturedStack trusted;
    if (room != nullptr) trusted = Trusted::capture(thread, origin, {room->frames, max_frames});
    const IdentifiedStack identified = identify_stack<Tested>(thread, origin, max_frames);
    if (room == nullptr) return identified;
    const std::span<const std::uintptr_t> expected(room->frames, trusted.depth);
    const bool hash_agrees = identified.hash == hash_frames(expected);
    const bool ask = !hash_agrees || ++room->agreements % kAsked == 0;
    const auto frames = ask ? frames_of<Tested>(thread, identified) : expected;
    compare({.stack = identified.stack, .frames = frames}, {.stack = trusted, .frames = expected},
            identified.hash);
    return identified;
  }

  static std::span<const std::uintptr_t> identified_frames(
      ThreadState& thread, const IdentifiedStack& identified) noexcept {
    return frames_of<Tested>(thread, identified);
  }

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    const auto identified = identify(thread, origin, static_cast<std::uint32_t>(frames.size()));
    const auto found = identified_frames(thread, identified);
    if (found.data() != frames.data()) std::copy(found.begin(), found.end(), frames.begin());
    return identified.stack;
  }

  static void forget_unloaded_modules() noexcept {
    if constexpr (features_of<StackFeatures, Tested>().forget_unloaded_modules) {
      Tested::forget_unloaded_modules();
    }
    if constexpr (features_of<StackFeatures, Trusted>().forget_unloaded_modules) {
      Trusted::forget_unloaded_modules();
    }
  }

  /// Compares only every `captures`-th capture from now on, counted over all threads, to save time
  /// in long programs. `Tested` still makes all captures.
  static void compare_every(std::uint64_t captures) noexcept {
    const std::lock_guard hold(lock_);
    every_ = std::max<std::uint64_t>(captures, 1);
  }

  /// Returns the counts so far.
  [[nodiscard]] static StackComparison comparison() noexcept {
    const std::lock_guard hold(lock_);
    return comparison_;
  }

  /// Returns the first differences. New differences after `forget` overwrite them.
  [[nodiscard]] static std::span<const StackDifference> differences() noexcept {
    const std::lock_guard hold(lock_);
    return {kept_.data(), std::min<std::size_t>(comparison_.different, kMaxKept)};
  }

  /// Resets the counts.
  static void forget() noexcept {
    const std::lock_guard hold(lock_);
    comparison_ = {};
  }

 private:
  struct Room {
    std::uint64_t agreements = 0;
    std::uintptr_t frames[ThreadState::kMaxFrames];
  };

  /// If hashes agree, asks `Tested` for frames in only every `kAsked`-th capture. A recorder asks
  /// only for the frames of new stacks, and these requests affect the caches of `Tested`.
  static constexpr std::uint64_t kAsked = 3;

  static bool is_due() noexcept {
    const std::lock_guard hold(lock_);
    return comparison_.captures++ % every_ == 0;
  }

  static void compare(const SeenFrames& tested, const SeenFrames& trusted,
                      const StackHash& hash) noexcept {
    const bool wrong_hash = hash != hash_frames(tested.frames);
    const bool same = !wrong_hash && same_stack(tested, trusted);
    const std::lock_guard hold(lock_);
    count(tested, trusted);
    if (same) return;
    StackDifference difference = describe_difference(tested, trusted);
    difference.wrong_hash = wrong_hash;
    count(difference);
    if (comparison_.different <= kMaxKept) kept_[comparison_.different - 1] = difference;
  }

  static void count(const SeenFrames& tested, const SeenFrames& trusted) noexcept {
    ++comparison_.compared;
    comparison_.tested_failed += tested.stack.failed ? 1 : 0;
    comparison_.trusted_failed += trusted.stack.failed ? 1 : 0;
    comparison_.truncated += trusted.stack.truncated ? 1 : 0;
    comparison_.by_records += goes_on_by_records(tested, trusted) ? 1 : 0;
    comparison_.frames += trusted.frames.size();
    comparison_.deepest = std::max<std::uint64_t>(comparison_.deepest, trusted.frames.size());
  }

  static void count(const StackDifference& difference) noexcept {
    const CapturedStack& tested = difference.tested;
    const CapturedStack& trusted = difference.trusted;
    const auto both = std::min(tested.depth, trusted.depth);
    ++comparison_.different;
    comparison_.different_depth += tested.depth != trusted.depth ? 1 : 0;
    comparison_.different_truncated += tested.truncated != trusted.truncated ? 1 : 0;
    comparison_.different_failed += tested.failed != trusted.failed ? 1 : 0;
    comparison_.different_frames += difference.first_different != both ? 1 : 0;
    comparison_.wrong_hash += difference.wrong_hash ? 1 : 0;
  }

  static inline constinit FutexLock lock_;
  static inline constinit StackComparison comparison_{};
  static inline constinit std::uint64_t every_ = 1;
  static inline constinit std::array<StackDifference, kMaxKept> kept_{};
};

}  // namespace alloctap::testing
