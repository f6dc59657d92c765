/// What a tracker knows of the frames of a game.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/budget_summary.hpp"
#include "alloctap/snapshot/frame_counts.hpp"

namespace alloctap {

/// What one tag did in one frame.
struct TagOfFrame {
  /// `kOtherTags`: of threads that were in more tags in that frame than they tell apart.
  /// `held_bytes` and `peak_bytes` are 0 then.
  TagId tag = kNoTag;
  FrameCounts counts{};
  /// What the tag held at the end of the frame.
  std::uint64_t held_bytes = 0;
  /// The most that it held in the frame: exact where one thread allocates and frees for it. With
  /// several threads no less than that: each one's highest counts, as if they had met.
  std::uint64_t peak_bytes = 0;
};

/// One frame. `held_bytes` and `peak_bytes` as those of a tag, for all memory.
struct FrameSummary {
  FrameNumber number = 0;
  /// Nanoseconds since the Unix epoch.
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  FrameCounts counts{};
  std::uint64_t held_bytes = 0;
  std::uint64_t peak_bytes = 0;
  /// Its tags: so many of `FrameHistory::tags`, from there on.
  std::uint32_t first_tag = 0;
  std::uint32_t tag_count = 0;
};

/// How many frames had so much of something: class 0 those that had none, class k those that had
/// 2^(k-1) to 2^k - 1.
using FrameHistogram = std::array<std::uint64_t, 65>;

/// What there is a histogram of, and a list of the worst frames by.
enum class FrameMeasure : std::uint8_t { kAllocations, kBytes, kAllocatorTime, kDuration };
inline constexpr std::size_t kFrameMeasures = 4;
inline constexpr std::array<FrameMeasure, kFrameMeasures> kAllFrameMeasures{
    FrameMeasure::kAllocations, FrameMeasure::kBytes, FrameMeasure::kAllocatorTime,
    FrameMeasure::kDuration};

[[nodiscard]] constexpr std::string_view name_of(FrameMeasure measure) noexcept {
  constexpr std::array<std::string_view, kFrameMeasures> kNames{"allocations", "allocated_bytes",
                                                                "allocator_ns", "duration_ns"};
  return kNames[static_cast<std::size_t>(measure)];
}

/// How much a frame has of it.
[[nodiscard]] constexpr std::uint64_t measured(const FrameCounts& counts, std::int64_t duration_ns,
                                               FrameMeasure measure) noexcept {
  switch (measure) {
    case FrameMeasure::kAllocations:
      return counts.allocations;
    case FrameMeasure::kBytes:
      return counts.allocated_bytes;
    case FrameMeasure::kAllocatorTime:
      return counts.allocator_ns;
    case FrameMeasure::kDuration:
      break;
  }
  return static_cast<std::uint64_t>(duration_ns);
}

/// Why a call took so long, as far as can be told.
enum class SlowCause : std::uint8_t { kUnknown, kPageFaults, kWait, kPreempted, kSize };

/// The slowest call of a frame among those whose time was taken.
struct SlowCall {
  /// 0: there is none.
  std::int64_t duration_ns = 0;
  std::uint64_t bytes = 0;
  /// Of the allocation; of a free, the one that the block came from.
  StackId stack = kNoStackId;
  TagId tag = kNoTag;
  AllocatorCall call = AllocatorCall::kAllocate;
  /// Whether the next three were counted. Where they are not, `waits` is 1 of a large call that had
  /// no processor for the most part of 16 ms or more.
  bool has_usage = false;
  std::uint32_t page_faults = 0;
  std::uint32_t waits = 0;
  std::uint32_t preemptions = 0;
};

/// The size from which a call is a large one, whose time is always taken.
inline constexpr std::size_t kLargeCallBytes = 256 * 1024;

/// What a call's numbers say: page faults, where they can be half of it (a quarter of a microsecond
/// each); else that it waited, as for a lock; else that others had the processor; else its size.
[[nodiscard]] constexpr SlowCause cause_of(const SlowCall& call) noexcept {
  constexpr std::int64_t kFaultNs = 250;
  if (std::int64_t{call.page_faults} * kFaultNs * 2 >= call.duration_ns && call.page_faults > 0) {
    return SlowCause::kPageFaults;
  }
  if (call.waits > 0) return SlowCause::kWait;
  if (call.preemptions > 0) return SlowCause::kPreempted;
  return call.bytes >= kLargeCallBytes ? SlowCause::kSize : SlowCause::kUnknown;
}

[[nodiscard]] constexpr std::string_view name_of(SlowCause cause) noexcept {
  switch (cause) {
    case SlowCause::kPageFaults:
      return "page_faults";
    case SlowCause::kWait:
      return "wait";
    case SlowCause::kPreempted:
      return "preempted";
    case SlowCause::kSize:
      return "size";
    case SlowCause::kUnknown:
      break;
  }
  return "unknown";
}

/// What one stack did in a frame.
struct StackOfFrame {
  /// `kNoStackId`: those that found no room of their own.
  StackId stack = kNoStackId;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t allocator_ns = 0;
};

/// One of the worst frames, with what made it so.
struct WorstFrame {
  static constexpr std::size_t kMaxStacks = 8;

  FrameNumber number = 0;
  /// Nanoseconds since the Unix epoch.
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  /// At the mark: an event that ran on another thread meanwhile may be missing.
  FrameCounts counts{};
  SlowCall slowest{};
  /// Most first; of frames that lasted long, by time in the allocator.
  std::array<StackOfFrame, kMaxStacks> stacks{};
  std::uint32_t stack_count = 0;
  /// The sum of all other stacks.
  StackOfFrame other_stacks{};
};

/// Memory from the arena. Move-only.
struct FrameHistory {
  /// Whether the tracker has an observer of frames; nothing else means anything without.
  bool known = false;
  /// The frames that were ended by a mark; what came before the first mark is none.
  std::uint64_t frames = 0;
  /// Marks that found another thread in the middle of one, or came from inside the tracker: they
  /// did nothing.
  std::uint64_t refused_marks = 0;
  /// How many times a mark came from another thread than the one before.
  std::uint64_t marking_thread_changes = 0;
  /// Events that were not counted because the system had no memory.
  std::uint64_t lost_events = 0;
  /// The last frames, by number, without a gap.
  ArenaArray<FrameSummary> last;
  ArenaArray<TagOfFrame> tags;
  /// By `FrameMeasure`; of all frames.
  std::array<FrameHistogram, kFrameMeasures> histograms{};
  /// By `FrameMeasure`; of all frames, the worst first.
  std::array<ArenaArray<WorstFrame>, kFrameMeasures> worst;
  /// In the order in which they were set.
  ArenaArray<BudgetSummary> budgets;
  /// The last ones, by time. How many older ones there were says `forgotten_offences`.
  ArenaArray<BudgetOffence> offences;
  std::uint64_t forgotten_offences = 0;

  /// Parts of what makes `last` and `tags`; empty when the snapshot is finished.
  ArenaArray<FrameRow> rows;
};

/// Calls `visit(StackId)` for each stack that `history` names.
template <class Visit>
void for_each_stack(const FrameHistory& history, Visit&& visit) {
  for (const ArenaArray<WorstFrame>& list : history.worst) {
    for (const WorstFrame& frame : list) {
      for (std::uint32_t i = 0; i < frame.stack_count; ++i) visit(frame.stacks[i].stack);
      if (frame.slowest.stack != kNoStackId) visit(frame.slowest.stack);
    }
  }
  for (const BudgetOffence& offence : history.offences) visit(offence.stack);
}

}  // namespace alloctap
