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

/// Activity of one tag in one game frame.
struct TagOfFrame {
  /// `kOtherTags` sums the tags beyond the number that a thread distinguishes in a frame.
  /// `held_bytes` and `peak_bytes` are then 0.
  TagId tag = kNoTag;
  FrameCounts counts{};
  /// Bytes held at the end of the frame.
  std::uint64_t held_bytes = 0;
  /// Peak bytes in the frame; exact if one thread allocates and frees for the tag. With several
  /// threads an upper bound: the sum of their peaks, as if simultaneous.
  std::uint64_t peak_bytes = 0;
};

/// One game frame. `held_bytes` and `peak_bytes` cover all memory, as those of a tag do.
struct FrameSummary {
  FrameNumber number = 0;
  /// Nanoseconds since the Unix epoch.
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  FrameCounts counts{};
  std::uint64_t held_bytes = 0;
  std::uint64_t peak_bytes = 0;
  /// Its range in `FrameHistory::tags`.
  std::uint32_t first_tag = 0;
  std::uint32_t tag_count = 0;
};

/// A histogram of frames by a measure: class 0 counts zero values, class k those from 2^(k-1) to
/// 2^k - 1.
using FrameHistogram = std::array<std::uint64_t, 65>;

/// The measures with a histogram and a list of worst frames.
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

/// Returns the value of a measure.
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

/// The slowest of the timed calls of a frame.
struct SlowCall {
  /// 0 if no call was timed.
  std::int64_t duration_ns = 0;
  std::uint64_t bytes = 0;
  /// The stack of the allocation; for a free, the stack that allocated the block.
  StackId stack = kNoStackId;
  TagId tag = kNoTag;
  AllocatorCall call = AllocatorCall::kAllocate;
  /// Whether the next three were measured. If not, `waits` is 1 for a large call that was off the
  /// CPU for most of 16 ms or more.
  bool has_usage = false;
  std::uint32_t page_faults = 0;
  std::uint32_t waits = 0;
  std::uint32_t preemptions = 0;
};

/// Calls of at least this size are large, and always timed.
inline constexpr std::size_t kLargeCallBytes = 256 * 1024;

/// Returns the likely cause. In this order: page faults, if they explain half the time at 250 ns
/// each; a wait, as for a lock; preemption; the size.
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

/// Activity of one stack in a frame.
struct StackOfFrame {
  /// `kNoStackId` sums the stacks that did not fit.
  StackId stack = kNoStackId;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t allocator_ns = 0;
};

/// One of the worst frames, and its causes.
struct WorstFrame {
  static constexpr std::size_t kMaxStacks = 8;

  FrameNumber number = 0;
  /// Nanoseconds since the Unix epoch.
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  /// Counts at the time of the mark; concurrent events of other threads may be missing.
  FrameCounts counts{};
  SlowCall slowest{};
  /// Largest first; in the list by duration, sorted by time in the allocator.
  std::array<StackOfFrame, kMaxStacks> stacks{};
  std::uint32_t stack_count = 0;
  /// The sum of all other stacks.
  StackOfFrame other_stacks{};
};

/// Memory from the arena. Move-only.
struct FrameHistory {
  /// False if the tracker has no frame observer; the other members are then meaningless.
  bool known = false;
  /// Frames ended by a mark; the time before the first mark is not a frame.
  std::uint64_t frames = 0;
  /// Marks ignored because another thread was in a mark, or they came from inside the tracker.
  std::uint64_t refused_marks = 0;
  /// How often the marking thread changed.
  std::uint64_t marking_thread_changes = 0;
  /// Events not counted for lack of memory.
  std::uint64_t lost_events = 0;
  /// The last frames, contiguous and by number.
  ArenaArray<FrameSummary> last;
  ArenaArray<TagOfFrame> tags;
  /// Over all frames, indexed by `FrameMeasure`.
  std::array<FrameHistogram, kFrameMeasures> histograms{};
  /// Over all frames, worst first, indexed by `FrameMeasure`.
  std::array<ArenaArray<WorstFrame>, kFrameMeasures> worst;
  /// In the order in which they were set.
  ArenaArray<BudgetSummary> budgets;
  /// The last offences, by time. `forgotten_offences` counts the older ones.
  ArenaArray<BudgetOffence> offences;
  std::uint64_t forgotten_offences = 0;

  /// Input of `last` and `tags`; empty in a finished snapshot.
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
