/// Fills a snapshot from a tracker's tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/game_frame_rows.hpp"
#include "alloctap/snapshot/live_sums.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"
#include "alloctap/snapshot/thread_summary.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// Copies the overhead bytes of `tags` (may be nullptr) to `overheads`, indexed by TagId. Omits
/// zeros at the end. Returns false if out of memory.
[[nodiscard]] inline bool read_overheads(const TagTable* tags,
                                         ArenaArray<std::uint64_t>& overheads) noexcept {
  const std::size_t count = tags == nullptr ? 0 : tags->end_id();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = tags->overhead(static_cast<TagId>(i));
    if (bytes == 0) continue;
    if (!overheads.resize(i + 1)) return false;
    overheads[i] = bytes;
  }
  return true;
}

/// Sums the live blocks of each thread in `snapshot`, if `tags` distinguish threads. Precondition:
/// the stacks of `snapshot` are complete. Returns false if out of memory. Control plane.
[[nodiscard]] inline bool add_holdings(Snapshot& snapshot, const TagsDescription& tags) noexcept {
  if (!tags.threads) return true;
  ThreadNumber last = kNoThread;
  for (const ThreadSummary& thread : snapshot.threads) last = std::max(last, thread.number);
  ArenaArray<ThreadSummary::Holding> holdings;
  if (!holdings.resize(std::size_t{last} + 1)) return false;
  for (const StackSummary& stack : snapshot.stacks) {
    const ThreadNumber thread = snapshot.table->owner(stack.stack).thread;
    ThreadSummary::Holding& holding = holdings[thread <= last ? thread : kNoThread];
    holding.live_allocations += stack.live_allocations;
    holding.live_bytes += stack.live_bytes;
  }
  for (ThreadSummary& thread : snapshot.threads) {
    if (thread.number != kNoThread) thread.holding = holdings[thread.number];
  }
  return true;
}

/// Callbacks by which observers add data to a snapshot. They return false if out of memory. A
/// callback is nullptr if no observer adds data.
struct ObservedParts {
  /// Copies data while the world is stopped.
  bool (*read)(Snapshot& snapshot) noexcept = nullptr;
  /// Completes the data after the world has resumed.
  bool (*finish)(Snapshot& snapshot) noexcept = nullptr;
};

template <class Observers>
[[nodiscard]] constexpr ObservedParts observed_parts() noexcept {
  ObservedParts parts;
  ALLOCTAP_CHECK_FEATURE(
      "Observer", kObserverFeatures<Observers>, add_to,
      requires(Snapshot& snapshot) { Observers::add_to(snapshot); });
  if constexpr (kObserves<Observers>) {
    parts.read = [](Snapshot& snapshot) noexcept {
      if constexpr (kObserverFeatures<Observers>.add_to) return Observers::add_to(snapshot);
      return true;
    };
    parts.finish = [](Snapshot& snapshot) noexcept { return GameFrameRows(snapshot).finish(); };
  }
  return parts;
}

/// Builds a snapshot from a recorder's data. Control plane.
///
/// Three steps keep the stop-the-world pause short: the constructor allocates, `read` copies while
/// the world is stopped, `finish` sorts and sums up.
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(const RecordedData& data, SnapshotOptions options = {},
                           ObservedParts observed = {}) noexcept;

  /// Copies all data that may change. Precondition: the world is stopped.
  void read() noexcept;

  /// Returns the snapshot. The world may have resumed. Fails if out of memory.
  [[nodiscard]] Result<Snapshot> finish();

 private:
  static constexpr std::size_t kMoreStacks = 1024;

  [[nodiscard]] bool expect_stacks(std::size_t end) noexcept;
  [[nodiscard]] FreedKnowledge knowledge_of_freed() const noexcept;
  void add_threads() noexcept;
  void add_freed(std::uint32_t thread, const FreedTotals& freed) noexcept;
  AllocationTotals add_stacks(const StackTotals& stacks) noexcept;
  void add_live() noexcept;
  void add_block(const void* pointer, const BlockRecord& record) noexcept;
  void add_estimates() noexcept;
  void expect_blocks() noexcept;
  void keep_block(const void* pointer, const BlockRecord& record) noexcept;
  std::int64_t age_of(const void* pointer) const noexcept;
  void add_mappings() noexcept;
  void read_counters() noexcept;
  void read_log() noexcept;
  void read_peak() noexcept;
  void finish_stacks() noexcept;
  void add_calls(const AllocationTotals& calls) noexcept;
  void add_sampled_calls() noexcept;
  void finish_counters() noexcept;
  bool finish_peak() noexcept;
  bool copy_peak(const Peak& peak) noexcept;

  const RecordedData data_;
  const SnapshotOptions options_;
  const ObservedParts observed_;
  Snapshot snapshot_;
  EventCounters counters_;
  LiveSums live_;
  bool peak_is_now_ = false;
  /// False if memory ran out.
  bool complete_ = true;
};

/// Adds the points and markers of `timeline` to `snapshot`, and the current values as the last
/// point. Returns false if out of memory. The caller holds the control lock.
[[nodiscard]] bool add_timeline(Timeline& timeline, Snapshot& snapshot) noexcept;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/snapshot/impl/take_snapshot.hpp"
#endif
