/// A consistent copy of a tracker's state.
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

/// Statistics about the completeness of the data, which every report begins with.
struct DataQuality {
  /// Calls recorded or recognized: allocations, frees, mappings and unmappings.
  std::uint64_t events = 0;
  /// Events lost for lack of memory.
  std::uint64_t dropped = 0;
  /// Frees and reallocations of unknown blocks, such as those from before the start. Empty if
  /// unknowable: the block may be from a pause, or not sampled.
  std::optional<std::uint64_t> unmatched_frees = 0;
  /// Frees that no hook saw, detected when the address was reused.
  std::uint64_t unseen_frees = 0;
  /// Stacks whose unwinding ended before the outermost frame.
  std::uint64_t failed_unwinds = 0;
  /// Stacks partly unwound by frame pointers, through code without unwind tables.
  std::uint64_t frame_pointer_unwinds = 0;
  /// Stacks truncated at the frame limit.
  std::uint64_t truncated_stacks = 0;
  /// Bytes of address space that the tracker uses.
  std::uint64_t tracker_bytes = 0;
  /// Number of pauses; allocations during a pause are in no number.
  std::uint64_t pauses = 0;
  /// Events that are counted but missing in `Snapshot::events`, because the log was full or a
  /// recording was cut short.
  std::uint64_t unlogged_events = 0;
  /// False if a thread was stopped inside the tracker, so that numbers may be partly updated.
  bool consistent = true;
};

/// Sums over all stacks since the start; a reallocation counts as a deallocation and an allocation.
struct Totals {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t temporary_allocations = 0;
};

/// Describes which numbers of a snapshot are estimates.
struct SamplingSummary {
  SamplingDescription policy;
  /// True if every allocation was recorded, and every number is exact. If false,
  /// `totals.allocations`, `deallocations`, `allocated_bytes` and `temporary_allocations` still
  /// count all calls exactly. Per-stack, live and peak numbers are then sums of sample weights.
  /// Deallocations then include those of unknown blocks. Concurrent calls of other threads may or
  /// may not be counted.
  bool exact = true;
  /// Live sampled blocks.
  std::uint64_t live_samples = 0;
  /// Half-width of the 95 % confidence interval around the estimate `live_bytes`.
  std::uint64_t live_bytes_margin = 0;
};

/// Allocations of one stack, and the live part of them.
struct StackSummary {
  StackId stack = kNoStackId;
  AllocationTotals total;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  /// The unreachable part of the live blocks; zero unless requested.
  UnreachableSum unreachable{};
};

/// A live block.
struct LiveBlock {
  std::uintptr_t address = 0;
  /// Requested bytes.
  std::uint64_t size = 0;
  StackId stack = kNoStackId;
  /// Nanoseconds since the allocation; -1 if unknown. Only trackers over an `AgedIndex` know it.
  std::int64_t age_ns = -1;
};

/// Live mappings created by one stack.
struct MappingSummary {
  StackId stack = kNoStackId;
  std::uint64_t live_mappings = 0;
  std::uint64_t live_bytes = 0;
};

/// Memory from the arena. Move-only. `table` belongs to the tracker and outlives every snapshot.
struct Snapshot {
  DataQuality account;
  Totals totals;
  MappingTotals mapping_totals;
  SamplingSummary sampling;
  /// Whether and how a scan for unreachable blocks ran.
  ScanSummary scan;
  /// All stacks that have allocated, by StackId.
  ArenaArray<StackSummary> stacks;
  /// All stacks with live mappings, by StackId.
  ArenaArray<MappingSummary> mappings;
  /// Histogram of live blocks. If sampled, sums differ from `totals` by rounding.
  SizeHistogram sizes{};
  /// All threads that have had an event.
  ArenaArray<ThreadSummary> threads;
  /// Empty unless requested.
  FreedByThread freed{};
  /// Sorted by address; empty unless requested.
  ArenaArray<LiveBlock> blocks;
  /// Sorted by time; older points are sparser. Empty if no timeline was requested.
  ArenaArray<TimelinePoint> timeline;
  /// The last markers, by time. `forgotten_markers` counts the older ones.
  ArenaArray<Marker> markers;
  std::uint64_t forgotten_markers = 0;
  Peak peak;
  /// The enabled checks; the default for a tracker without checks.
  CheckSettings checks{};
  /// Faults in order of first detection; empty for a tracker without checks.
  ArenaArray<CountedMisuse> misuses;
  /// Faults dropped because the log was full.
  std::uint64_t misuses_left_out = 0;
  GuardPageStats guards;
  /// Set by a tracker with a frame observer.
  FrameHistory frames;
  /// Set by a tracker with no-allocation scopes: the allocations in them, in order of first
  /// occurrence, and the number of those dropped.
  bool scopes_known = false;
  ArenaArray<OffenceSum> scope_offences;
  std::uint64_t left_out_scope_offences = 0;
  /// Set by a tracker that tracks pools.
  PoolsSummary pools{};
  /// All events up to the snapshot, for a tracker with a `LoggingQueue`; otherwise empty. The log
  /// owns them and outlives every snapshot.
  LoggedEvents events;
  const StackTable* table = nullptr;
  /// Names the tags of stacks (`table->owner(stack).tag`); nullptr for a tracker without tags.
  /// Outlives every snapshot.
  const TagTable* tags = nullptr;
  /// Overhead bytes of named allocators, by TagId. Missing entries are zero.
  ArenaArray<std::uint64_t> overheads;
  /// Strings of the markers.
  TextPool names;
  /// Time of the snapshot, in nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
};

}  // namespace alloctap
