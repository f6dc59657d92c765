/// A consistent copy of a tracker's state, and the summaries of threads, frees and sizes in it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/queue/event_stream.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// Sums over the blocks that one stack allocated and one thread freed, since the start.
struct FreesByThread {
  StackId stack = kNoStackId;
  /// The index of the freeing thread in `Snapshot::threads`.
  std::uint32_t thread = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// Whether a snapshot has frees by thread, and if not, why.
enum class FreedKnowledge : std::uint8_t {
  kNotAsked,
  kAll,
  /// Some frees were not counted because memory ran out.
  kIncomplete,
  /// The queue applies events on other threads than the calling ones.
  kNotKnown,
  /// The tracker samples, so that only frees of sampled blocks are counted.
  kSampled,
};

struct FreedByThread {
  FreedKnowledge knowledge = FreedKnowledge::kNotAsked;
  /// Rows sorted by thread, then by stack. Allocated in the arena.
  ArenaArray<FreesByThread> blocks;

  /// Returns whether `blocks` has data, perhaps incomplete.
  [[nodiscard]] bool is_available() const noexcept {
    return knowledge == FreedKnowledge::kAll || knowledge == FreedKnowledge::kIncomplete;
  }
};

/// Sums of allocations and frees in allocation scopes.
struct AllocationSums {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t frees = 0;
};

/// The allocations and frees of one stack in no-allocation scopes with one name. Counts only
/// executions of a scope that violated it. In such executions, also counts permitted allocations.
struct OffenceSum {
  static constexpr std::size_t kLongestName = 63;

  StackId stack = kNoStackId;
  /// Number of executions of the scope that violated it.
  std::uint64_t scopes = 0;
  AllocationSums sums = {};
  char name_text[kLongestName + 1] = {};

  /// Returns the scope's name, truncated to `kLongestName` bytes.
  [[nodiscard]] std::string_view scope() const noexcept { return name_text; }
};

/// The live blocks of one size class.
struct SizeClass {
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

/// Size class 0 holds empty blocks; class k holds blocks of 2^(k-1) to 2^k - 1 bytes.
inline constexpr std::size_t kSizeClasses = 65;
using SizeHistogram = std::array<SizeClass, kSizeClasses>;

[[nodiscard]] constexpr std::size_t size_class(std::uint64_t bytes) noexcept {
  return static_cast<std::size_t>(std::bit_width(bytes));
}

[[nodiscard]] constexpr std::uint64_t least_size(std::size_t size_class) noexcept {
  return size_class == 0 ? 0 : std::uint64_t{1} << (size_class - 1);
}

[[nodiscard]] constexpr std::uint64_t greatest_size(std::size_t size_class) noexcept {
  return size_class == 0 ? 0 : least_size(size_class) - 1 + least_size(size_class);
}

/// The calls of one thread since the start. Ended threads are included. After many threads, a
/// tracker lets new threads reuse the counters of ended ones. Such a summary covers `threads`
/// successive threads and has the id of the last thread.
///
/// A thread's live blocks are known only if the tracker's `Tags` distinguish threads. Otherwise a
/// block's record has no thread, and any thread may free the block. `DirectQueue` counts
/// deallocations on the calling thread, a queue with a worker on the thread that applies them. With
/// a sampling policy, all numbers except `net_bytes` and `holding` still count every call.
struct ThreadSummary {
  /// The live blocks that the thread allocated.
  struct Holding {
    std::uint64_t live_allocations = 0;
    std::uint64_t live_bytes = 0;
  };

  os::ThreadId thread_id = 0;
  /// Whether the thread still existed when the snapshot ended.
  bool alive = false;
  /// Number of successive threads in this summary. Only the last thread is identified.
  std::uint32_t threads = 1;
  AllocationTotals total = {};
  /// Known blocks of any thread that this thread freed. With sampling, also unknown blocks.
  std::uint64_t deallocations = 0;
  /// Bytes allocated minus bytes freed by the thread. Negative if the thread frees blocks of other
  /// threads. The sum over all threads equals the live bytes.
  std::int64_t net_bytes = 0;
  /// The thread's number in `StackOwner`; `kNoThread` if unknown.
  ThreadNumber number = kNoThread;
  /// The thread's live blocks; nullopt if unknown. An estimate if live numbers are estimates.
  /// Blocks without a known stack count for no thread.
  std::optional<Holding> holding = {};
  std::array<char, 16> name_text{};
  std::size_t name_bytes = 0;

  /// Returns the system's name of the thread. Empty if the thread has ended.
  [[nodiscard]] std::string_view name() const noexcept { return {name_text.data(), name_bytes}; }
};

/// Sets the name of each thread, and whether the thread still exists. Precondition: `threads` are
/// in order of creation. If two ids are equal, the earlier thread has ended. Control plane.
inline void name_threads(std::span<ThreadSummary> threads) noexcept {
  for (std::size_t i = 0; i < threads.size(); ++i) {
    ThreadSummary& thread = threads[i];
    thread.alive = os::thread_is_alive(thread.thread_id);
    for (const ThreadSummary& later : threads.subspan(i + 1)) {
      if (later.thread_id == thread.thread_id) thread.alive = false;
    }
    if (thread.alive) thread.name_bytes = os::thread_name(thread.thread_id, thread.name_text);
  }
}

/// Statistics about the completeness of the data. Every report begins with them.
struct DataQuality {
  /// Number of allocations, frees, mappings and unmappings that were recorded or recognized.
  std::uint64_t events = 0;
  /// Number of events lost because memory ran out.
  std::uint64_t dropped = 0;
  /// Number of frees and reallocations of unknown blocks, such as blocks from before the start.
  /// nullopt if such blocks may be valid, because they were allocated in a pause or not sampled.
  std::optional<std::uint64_t> unmatched_frees = 0;
  /// Number of frees that the hook missed. They are detected when the address is reused.
  std::uint64_t unseen_frees = 0;
  /// Number of stacks whose unwinding failed before the outermost frame.
  std::uint64_t failed_unwinds = 0;
  /// Number of stacks unwound by frame pointers through code that has no unwind tables.
  std::uint64_t frame_pointer_unwinds = 0;
  /// Number of stacks truncated at the frame limit.
  std::uint64_t truncated_stacks = 0;
  /// Bytes of address space that the tracker uses.
  std::uint64_t tracker_bytes = 0;
  /// Number of pauses. Allocations during a pause are not counted anywhere.
  std::uint64_t pauses = 0;
  /// Number of counted events missing in `Snapshot::events` (log full, or recording incomplete).
  std::uint64_t unlogged_events = 0;
  /// False if a thread was stopped inside the tracker. The data may then include a partial update.
  bool consistent = true;
};

/// Sums over all stacks since the start. A reallocation counts as a deallocation and an allocation.
struct Totals {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t temporary_allocations = 0;
};

/// Whether the numbers of a snapshot are estimates.
struct SamplingSummary {
  SamplingDescription policy;
  /// True if every allocation was recorded, so that all numbers are exact. If false,
  /// `totals.allocations`, `deallocations`, `allocated_bytes` and `temporary_allocations` still
  /// count all calls exactly. The deallocations then include frees of unknown blocks. Per-stack,
  /// live and peak numbers are sums of sample weights. Calls during the snapshot may be missing.
  bool exact = true;
  /// Number of live sampled blocks.
  std::uint64_t live_samples = 0;
  /// Half-width of the 95 % confidence interval around the estimate `live_bytes`.
  std::uint64_t live_bytes_margin = 0;
};

/// Sums over the allocations of one stack: all since the start, and live allocations.
struct StackSummary {
  StackId stack = kNoStackId;
  AllocationTotals total;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
  /// The part of the live blocks that a scan found unreachable. Zero unless a scan was requested.
  UnreachableSum unreachable{};
};

struct LiveBlock {
  std::uintptr_t address = 0;
  /// Requested size in bytes.
  std::uint64_t size = 0;
  StackId stack = kNoStackId;
  /// Nanoseconds since the allocation. -1 unless the tracker uses an `AgedIndex`.
  std::int64_t age_ns = -1;
};

/// Sums over the live mappings that one stack created.
struct MappingSummary {
  StackId stack = kNoStackId;
  std::uint64_t live_mappings = 0;
  std::uint64_t live_bytes = 0;
};

/// A consistent copy of a tracker's data. Its arrays are allocated in the arena. Move-only. Refers
/// to `table`, which the tracker owns and never destroys.
struct Snapshot {
  DataQuality account;
  Totals totals;
  MappingTotals mapping_totals;
  SamplingSummary sampling;
  /// Statistics of the scan for unreachable blocks, if one was requested.
  ScanSummary scan;
  /// All stacks that have allocated, sorted by StackId.
  ArenaArray<StackSummary> stacks;
  /// All stacks with live mappings, sorted by StackId.
  ArenaArray<MappingSummary> mappings;
  /// Histogram of live blocks by size. With sampling, its sums differ from `totals` by rounding.
  SizeHistogram sizes{};
  /// All threads that have had an event.
  ArenaArray<ThreadSummary> threads;
  /// Frees by thread. Empty unless requested.
  FreedByThread freed{};
  /// Live blocks in order of address. Empty unless requested.
  ArenaArray<LiveBlock> blocks;
  /// Points in order of time; older points are farther apart. Empty if no timeline was requested.
  ArenaArray<TimelinePoint> timeline;
  /// The last markers, in order of time. `forgotten_markers` counts older markers.
  ArenaArray<Marker> markers;
  std::uint64_t forgotten_markers = 0;
  Peak peak;
  /// The enabled checks. Default-constructed if the tracker has no checks.
  CheckSettings checks{};
  /// Faults in order of first detection. Empty if the tracker has no checks.
  ArenaArray<CountedMisuse> misuses;
  /// Number of faults dropped because the log was full.
  std::uint64_t misuses_left_out = 0;
  GuardPageStats guards;
  /// The history of game frames. Unknown unless the tracker has a game-frame observer.
  FrameHistory frames;
  /// Whether the tracker supports no-allocation scopes. If true, `scope_offences` lists their
  /// violations in order of first occurrence; `left_out_scope_offences` counts unlisted violations.
  bool scopes_known = false;
  ArenaArray<OffenceSum> scope_offences;
  std::uint64_t left_out_scope_offences = 0;
  /// Memory pools. Empty unless the tracker tracks pools.
  PoolsSummary pools{};
  /// All events up to the snapshot. Empty unless the tracker uses a `LoggingQueue`. The log owns
  /// the events and is never destroyed.
  LoggedEvents events;
  const StackTable* table = nullptr;
  /// The names of tags. A stack's tag is `table->owner(stack).tag`. nullptr if the tracker has no
  /// tags. The tracker owns the table and never destroys it.
  const TagTable* tags = nullptr;
  /// Overhead bytes of named allocators, indexed by TagId. Tags beyond the array have no overhead.
  ArenaArray<std::uint64_t> overheads;
  /// The strings to which `markers` refer.
  TextPool names;
  /// Time of the snapshot, in nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
};

}  // namespace alloctap
