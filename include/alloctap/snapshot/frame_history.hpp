/// The recorded history of game frames.
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

/// Allocator activity of one tag in one game frame.
struct TagOfFrame {
  /// The tag. `kOtherTags` sums the tags for which a thread had no counters left in the game frame;
  /// its `held_bytes` and `peak_bytes` are 0.
  TagId tag = kNoTag;
  FrameCounts counts{};
  /// Live bytes at the end of the game frame.
  std::uint64_t held_bytes = 0;
  /// Peak live bytes in the game frame. Exact if one thread makes all allocations and frees of the
  /// tag. Otherwise an upper bound: the sum of the threads' peaks, as if they were simultaneous.
  std::uint64_t peak_bytes = 0;
};

/// Allocator activity in one game frame. Members are defined in `TagOfFrame`, but cover all tags.
struct FrameSummary {
  FrameNumber number = 0;
  /// Begin of the game frame, in nanoseconds since the Unix epoch.
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  FrameCounts counts{};
  std::uint64_t held_bytes = 0;
  std::uint64_t peak_bytes = 0;
  /// `first_tag` and `tag_count` give the frame's range in `FrameHistory::tags`.
  std::uint32_t first_tag = 0;
  std::uint32_t tag_count = 0;
};

/// A histogram of game frames by a measure. Class 0 counts frames with the value 0. Class k counts
/// frames with values from 2^(k-1) to 2^k - 1.
using FrameHistogram = std::array<std::uint64_t, 65>;

/// The measures for which a histogram and a list of the worst game frames are kept.
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

/// Returns the value of `measure` for a game frame.
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

/// The likely cause of a slow call.
enum class SlowCause : std::uint8_t { kUnknown, kPageFaults, kWait, kPreempted, kSize };

/// The slowest timed allocator call of a game frame.
struct SlowCall {
  /// Duration of the call; 0 if no call was timed.
  std::int64_t duration_ns = 0;
  std::uint64_t bytes = 0;
  /// The stack of the allocation. For a free, the stack that allocated the block.
  StackId stack = kNoStackId;
  TagId tag = kNoTag;
  AllocatorCall call = AllocatorCall::kAllocate;
  /// Whether the next three members were measured. If false, `waits` may still be 1: a large call
  /// was off the CPU for most of its duration of at least 16 ms.
  bool has_usage = false;
  std::uint32_t page_faults = 0;
  std::uint32_t waits = 0;
  std::uint32_t preemptions = 0;
};

/// Minimum size of a large call. Large calls are always timed.
inline constexpr std::size_t kLargeCallBytes = 256 * 1024;

/// Returns the likely cause of a slow call: page faults, if they explain half the time at 250 ns
/// each. Otherwise a wait (for a lock), preemption, or the size, in this order.
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

/// Allocator activity of one stack in a game frame.
struct StackOfFrame {
  /// The stack. `kNoStackId` sums the stacks for which there was no room.
  StackId stack = kNoStackId;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t allocator_ns = 0;
};

/// One of the worst game frames, and the stacks that caused it.
struct WorstFrame {
  static constexpr std::size_t kMaxStacks = 8;

  FrameNumber number = 0;
  /// Begin of the game frame, in nanoseconds since the Unix epoch.
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  /// Counts at the mark that ended the game frame. Concurrent events may be missing.
  FrameCounts counts{};
  SlowCall slowest{};
  /// Sorted by the measure, largest first; by time in the allocator if the measure is duration.
  std::array<StackOfFrame, kMaxStacks> stacks{};
  std::uint32_t stack_count = 0;
  /// The sum of all other stacks.
  StackOfFrame other_stacks{};
};

/// The history of game frames and budgets in a snapshot. Allocated in the arena. Move-only.
struct FrameHistory {
  /// False if the tracker has no game-frame observer. The other members are then meaningless.
  bool known = false;
  /// Number of game frames ended by a mark. Excludes the time before the first mark.
  std::uint64_t frames = 0;
  /// Number of ignored marks, made from inside the tracker or while another thread was in a mark.
  std::uint64_t refused_marks = 0;
  /// Number of times that a mark came from another thread than the previous mark.
  std::uint64_t marking_thread_changes = 0;
  /// Number of events not counted because memory ran out.
  std::uint64_t lost_events = 0;
  /// The last game frames, in order of number without gaps.
  ArenaArray<FrameSummary> last;
  ArenaArray<TagOfFrame> tags;
  /// Histograms over all game frames, indexed by `FrameMeasure`.
  std::array<FrameHistogram, kFrameMeasures> histograms{};
  /// The worst of all game frames, worst first, indexed by `FrameMeasure`.
  std::array<ArenaArray<WorstFrame>, kFrameMeasures> worst;
  /// All budgets, in the order in which they were set.
  ArenaArray<BudgetSummary> budgets;
  /// The last offences, in order of time. `forgotten_offences` counts older offences.
  ArenaArray<BudgetOffence> offences;
  std::uint64_t forgotten_offences = 0;

  /// Input of `GameFrameRows`, which computes `last` and `tags`. Empty in a finished snapshot.
  ArenaArray<FrameRow> rows;
};

/// Calls `visit(StackId)` for each stack in `history`.
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
