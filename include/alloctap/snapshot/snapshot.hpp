/// A copy of a tracker's state at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/guard_page_stats.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/queue/logged_events.hpp"
#include "alloctap/record/allocation_totals.hpp"
#include "alloctap/record/pool_summary.hpp"
#include "alloctap/record/timeline_point.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/frees_by_thread.hpp"
#include "alloctap/snapshot/offence_sum.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/size_histogram.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"
#include "alloctap/snapshot/thread_summary.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// How far the numbers can be trusted: what every report opens with.
struct DataQuality {
  /// Calls that were recorded or recognized: allocations, frees, mappings and unmappings.
  std::uint64_t events = 0;
  /// Events lost because the system had no memory for them.
  std::uint64_t dropped = 0;
  /// Frees and reallocations of blocks that were not known, from before the start for example.
  /// Nothing where it cannot be told: such a block may have come in a pause, or not been sampled.
  std::optional<std::uint64_t> unmatched_frees = 0;
  /// Blocks found gone because their address was handed out again.
  std::uint64_t unseen_frees = 0;
  /// Captured stacks whose walk ended before the outermost frame.
  std::uint64_t failed_unwinds = 0;
  /// Captured stacks that pass code without unwind tables, by its frame pointers.
  std::uint64_t frame_pointer_unwinds = 0;
  /// Captured stacks that were deeper than the limit on frames.
  std::uint64_t truncated_stacks = 0;
  /// Bytes of address space that the tracker holds for itself.
  std::uint64_t tracker_bytes = 0;
  /// How many times recording was paused; what was allocated meanwhile is in no number.
  std::uint64_t pauses = 0;
  /// Events that are in every number, but not in `Snapshot::events`: the log was full, or a record
  /// of it cut short.
  std::uint64_t unlogged_events = 0;
  /// False: a thread was stopped inside the tracker, so numbers may be in the middle of a change.
  bool consistent = true;
};

/// Sums over all stacks since the start; a reallocation is one deallocation and one allocation.
struct Totals {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t temporary_allocations = 0;
};

/// What of a snapshot is estimated.
struct SamplingSummary {
  SamplingDescription policy;
  /// True: every allocation was recorded, and every number is exact. False: `totals.allocations`,
  /// `deallocations`, `allocated_bytes` and `temporary_allocations` count all calls and are exact;
  /// numbers of stacks, live and peak numbers are sums of weights of samples. Deallocations are
  /// then all frees and reallocations, of blocks that were not known too. Calls that other threads
  /// make while the snapshot is taken may be counted or not.
  bool exact = true;
  /// Live blocks that were sampled.
  std::uint64_t live_samples = 0;
  /// With a probability of 95 %, what was really live lies no further from `live_bytes`.
  std::uint64_t live_bytes_margin = 0;
};

/// What one stack has allocated, and what of it is live.
struct StackSummary {
  StackId stack = kNoStackId;
  AllocationTotals total;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  /// Of what is live; nothing unless it was asked for.
  UnreachableSum unreachable{};
};

/// A block that was live.
struct LiveBlock {
  std::uintptr_t address = 0;
  /// In bytes, as the program asked for it.
  std::uint64_t size = 0;
  StackId stack = kNoStackId;
  /// For how long it has been there, in nanoseconds; -1 where the tracker does not know: only one
  /// over an `AgedIndex` does.
  std::int64_t age_ns = -1;
};

/// Live mappings made by one stack.
struct MappingSummary {
  StackId stack = kNoStackId;
  std::uint64_t live_mappings = 0;
  std::uint64_t live_bytes = 0;
};

/// Memory from the arena. Move-only. `table` is the tracker's own and outlives every snapshot.
struct Snapshot {
  DataQuality account;
  Totals totals;
  MappingTotals mapping_totals;
  SamplingSummary sampling;
  /// Whether unreachable blocks were looked for, and how that went.
  ScanSummary scan;
  /// Every stack that has allocated, by StackId.
  ArenaArray<StackSummary> stacks;
  /// Every stack with live mappings, by StackId.
  ArenaArray<MappingSummary> mappings;
  /// All live blocks; where they are estimated, the sums differ from `totals` by rounding.
  SizeHistogram sizes{};
  /// Every thread that has had an event.
  ArenaArray<ThreadSummary> threads;
  /// Nothing unless it was asked for.
  FreedByThread freed{};
  /// By address; empty unless they were asked for.
  ArenaArray<LiveBlock> blocks;
  /// By time; the older, the fewer. Empty where nobody asked for points.
  ArenaArray<TimelinePoint> timeline;
  /// By time: the last ones. How many older ones there were says `forgotten_markers`.
  ArenaArray<Marker> markers;
  std::uint64_t forgotten_markers = 0;
  Peak peak;
  /// What checks looked for; as if by default for a tracker without.
  CheckSettings checks{};
  /// What checks found, in the order in which it was found first; empty for a tracker without.
  ArenaArray<CountedMisuse> misuses;
  /// Faults for which there was no room.
  std::uint64_t misuses_left_out = 0;
  GuardPageStats guards;
  /// Of a tracker with an observer of frames.
  FrameHistory frames;
  /// Of a tracker that knows of scopes that must not allocate: what was allocated in them, in the
  /// order in which it came first, and of how much of that there was no room.
  bool scopes_known = false;
  ArenaArray<OffenceSum> scope_offences;
  std::uint64_t left_out_scope_offences = 0;
  /// Of a tracker that hears of pools.
  PoolsSummary pools{};
  /// All events up to the snapshot, for a tracker with a `LoggingQueue`; they are the log's own,
  /// which outlives every snapshot. Else empty.
  LoggedEvents events;
  const StackTable* table = nullptr;
  /// What the tags of stacks are called (`table->owner(stack).tag`); nullptr where the tracker
  /// knows of none. Outlives every snapshot.
  const TagTable* tags = nullptr;
  /// By TagId: what allocators that are named so hold beyond their blocks, in bytes. Behind the
  /// last is nothing but zeros.
  ArenaArray<std::uint64_t> overheads;
  /// Of markers.
  TextPool names;
  /// When it was taken, in nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
};

}  // namespace alloctap
