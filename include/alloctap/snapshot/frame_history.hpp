/// The recorded history of game frames: counters per frame and tag, worst frames, budgets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Number of a game frame. The first mark begins game frame 1; 0 is the time before that mark.
using FrameNumber = std::uint64_t;

/// Allocator activity in a game frame or for one tag or stack in it. A reallocation counts as a
/// deallocation and an allocation.
struct FrameCounts {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t freed_bytes = 0;
  /// Estimated time in the allocator, from all large calls and a random sample of one in
  /// `kTimedOneIn` other calls. 0 if the hook does not measure time.
  std::uint64_t allocator_ns = 0;

  constexpr FrameCounts& operator+=(const FrameCounts& other) noexcept {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    deallocations += other.deallocations;
    freed_bytes += other.freed_bytes;
    allocator_ns += other.allocator_ns;
    return *this;
  }
  friend constexpr bool operator==(const FrameCounts&, const FrameCounts&) noexcept = default;
};

/// Sampling rate of timed calls: one in this many small calls is timed, at random.
inline constexpr std::uint32_t kTimedOneIn = 64;

/// Pseudo-tags: `kAllTags` sums all tags; `kOtherTags` sums the tags beyond a thread's row limit.
inline constexpr TagId kAllTags = 0xFFFF;
inline constexpr TagId kOtherTags = 0xFFFE;

/// Counts of one thread for one tag in one game frame.
struct FrameRow {
  FrameNumber frame = 0;
  /// The game frame that was current when the row was written.
  FrameNumber written = 0;
  FrameCounts counts{};
  /// Peak of the thread's net allocation (allocated minus freed bytes) above its value at the begin
  /// of the game frame.
  std::uint64_t rise = 0;
  TagId tag = kNoTag;
};

/// The quantity that a budget limits.
enum class BudgetKind : std::uint8_t { kHeldBytes, kAllocationsPerFrame, kBytesPerFrame };
inline constexpr std::size_t kBudgetKinds = 3;
inline constexpr std::array<BudgetKind, kBudgetKinds> kAllBudgetKinds{
    BudgetKind::kHeldBytes, BudgetKind::kAllocationsPerFrame, BudgetKind::kBytesPerFrame};

[[nodiscard]] constexpr std::string_view name_of(BudgetKind kind) noexcept {
  switch (kind) {
    case BudgetKind::kHeldBytes:
      return "held_bytes";
    case BudgetKind::kAllocationsPerFrame:
      return "allocations_per_frame";
    case BudgetKind::kBytesPerFrame:
      break;
  }
  return "bytes_per_frame";
}

/// The value of a limit that is not set.
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// An allocation that exceeded a budget, and the state of the budget.
struct BudgetOffence {
  /// The tag whose budget was exceeded. The allocation may be in a nested tag.
  TagId tag = kNoTag;
  BudgetKind kind = BudgetKind::kHeldBytes;
  std::uint64_t limit = 0;
  /// The value of the limited quantity, including this allocation.
  std::uint64_t value = 0;
  StackId stack = kNoStackId;
  FrameNumber frame = 0;
  /// Time of the allocation, in nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
  /// The name of the tag without its parents. Its storage lives as long as the process.
  std::string_view tag_name = {};
};

/// The state of one limit of a budget.
struct LimitSummary {
  std::uint64_t limit = kUnlimited;
  /// For `kHeldBytes`, the current live bytes. For the other kinds, the number of allocations or
  /// bytes in the current game frame.
  std::uint64_t value = 0;
  /// The maximum of `value` so far, over all game frames.
  std::uint64_t most = 0;
  /// Number of times that the action of the budget ran.
  std::uint64_t offences = 0;
};

/// The budget of a tag and its nested tags.
struct BudgetSummary {
  TagId tag = kNoTag;
  /// Indexed by `BudgetKind`.
  std::array<LimitSummary, kBudgetKinds> limits{};
};

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

/// Allocator activity in one game frame, over all tags. Members mean the same as in `TagOfFrame`.
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
  /// Whether the next three members were measured. If false, they are 0, but `waits` is 1 if a
  /// large call took at least 16 ms and was off the CPU for most of that time.
  bool has_usage = false;
  std::uint32_t page_faults = 0;
  std::uint32_t waits = 0;
  std::uint32_t preemptions = 0;
};

/// Minimum size of a large call. Large calls are always timed.
inline constexpr std::size_t kLargeCallBytes = 256 * 1024;

/// Returns the likely cause of a slow call: page faults if they explain, at 250 ns each, at least
/// half the duration. If not, returns a wait (for a lock), preemption or the size, in this order.
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
  /// The stack. `kNoStackId` in `WorstFrame::other_stacks`, a sum of several stacks.
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
  /// Sorted by the list's measure, largest first. For `kDuration`, sorted by time in the allocator.
  std::array<StackOfFrame, kMaxStacks> stacks{};
  std::uint32_t stack_count = 0;
  /// The sum of all stacks that are not in `stacks`.
  StackOfFrame other_stacks{};
};

/// The counts of a `FrameHistory`.
struct FrameTotals {
  /// Number of game frames ended by a mark. Excludes the time before the first mark.
  std::uint64_t frames = 0;
  /// Number of ignored marks, made from inside the tracker or while another thread was in a mark.
  std::uint64_t refused_marks = 0;
  /// Number of times that a mark came from another thread than the previous mark.
  std::uint64_t marking_thread_changes = 0;
  /// Number of events not counted because memory ran out.
  std::uint64_t lost_events = 0;
  /// Number of offences older than those in `FrameHistory::offences`.
  std::uint64_t forgotten_offences = 0;
};

/// The history of game frames and budgets in a snapshot. Allocated in the arena. Move-only.
struct FrameHistory : FrameTotals {
  /// False if the tracker has no game-frame observer. The other members are then meaningless.
  bool known = false;
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
