/// Definitions for snapshot/take_snapshot.hpp.
#pragma once

#include <atomic>
#include <string_view>
#include <utility>

#include "alloctap/os/clock.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/record/peak_tracker.hpp"
#include "alloctap/record/timeline.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/join_equal.hpp"
#include "alloctap/snapshot/take_snapshot.hpp"

namespace alloctap {

ALLOCTAP_INLINE SnapshotBuilder::SnapshotBuilder(const RecordedData& data, SnapshotOptions options,
                                                 ObservedParts observed) noexcept
    : data_(data), options_(options), observed_(observed) {
  snapshot_.table = &data_.stacks;
  snapshot_.tags = data_.tags.tags;
  // Reserves memory for stacks that are added before the world is stopped.
  complete_ = expect_stacks(data_.stacks.end_id() + kMoreStacks);
  if (options_.blocks) expect_blocks();
  if (options_.freed) snapshot_.freed.knowledge = knowledge_of_freed();
}

ALLOCTAP_INLINE void SnapshotBuilder::read() noexcept {
  snapshot_.time_ns = os::wall_clock_ns();
  const std::size_t stacks = std::max<std::size_t>(snapshot_.stacks.size(), data_.stacks.end_id());
  complete_ = complete_ && expect_stacks(stacks);
  if (!complete_) return;
  add_threads();
  add_live();
  add_mappings();
  read_counters();
  read_peak();
  read_log();
  complete_ = read_overheads(snapshot_.tags, snapshot_.overheads) && complete_;
  if (observed_.read != nullptr) complete_ = observed_.read(snapshot_) && complete_;
}

ALLOCTAP_INLINE Result<Snapshot> SnapshotBuilder::finish() {
  if (complete_) finish_stacks();
  if (!complete_ || !finish_peak() || !add_holdings(snapshot_, data_.tags)) {
    return Status::resource_exhausted("snapshot: the system has no memory for it");
  }
  snapshot_.sizes = live_.sizes();
  snapshot_.sampling = {.policy = data_.sampling.policy,
                        .exact = data_.sampling.is_exact(),
                        .live_samples = live_.samples(),
                        .live_bytes_margin = live_.margin()};
  finish_counters();
  if (observed_.finish != nullptr && !observed_.finish(snapshot_)) {
    return Status::resource_exhausted("snapshot: the system has no memory for frames");
  }
  name_threads({snapshot_.threads.data(), snapshot_.threads.size()});
  std::sort(snapshot_.blocks.begin(), snapshot_.blocks.end(),
            [](const LiveBlock& a, const LiveBlock& b) { return a.address < b.address; });
  return std::move(snapshot_);
}

/// Reserves memory for the stacks with ids below `end`. Returns false if out of memory. Until
/// `finish_stacks` runs, `Snapshot::stacks` is indexed by StackId.
ALLOCTAP_INLINE bool SnapshotBuilder::expect_stacks(std::size_t end) noexcept {
  return snapshot_.stacks.resize(end) && live_.expect_stacks(end);
}

ALLOCTAP_INLINE FreedKnowledge SnapshotBuilder::knowledge_of_freed() const noexcept {
  if (!data_.sampling.is_exact()) return FreedKnowledge::kSampled;
  return data_.delivers_at_once() ? FreedKnowledge::kAll : FreedKnowledge::kNotKnown;
}

ALLOCTAP_INLINE void SnapshotBuilder::add_threads() noexcept {
  const bool exact = data_.sampling.is_exact();
  data_.threads.for_each([&](const ThreadStats& stats, const ThreadState& thread) {
    const ThreadSummary summary{
        .thread_id = thread.thread_id.load(std::memory_order_relaxed),
        .threads = thread.generation,
        .total = exact ? add_stacks(stats.stacks) : stats.calls.totals(),
        .deallocations = exact ? stats.recorded.deallocations() : stats.calls.deallocations(),
        .net_bytes = stats.live.total.load(std::memory_order_relaxed),
        .number = thread.number};
    complete_ = snapshot_.threads.push_back(summary) && complete_;
    if (!snapshot_.freed.is_available()) return;
    add_freed(static_cast<std::uint32_t>(snapshot_.threads.size() - 1), stats.freed);
  });
}

/// Adds the frees of one thread. `thread` is the index of the thread in `Snapshot::threads`.
ALLOCTAP_INLINE void SnapshotBuilder::add_freed(std::uint32_t thread,
                                                const FreedTotals& freed) noexcept {
  if (!freed.complete()) snapshot_.freed.knowledge = FreedKnowledge::kIncomplete;
  freed.for_each([&](StackId stack, const FreedTotals::Entry& entry) {
    // The count is negative if this thread restored, after failed frees, another thread's records.
    if (static_cast<std::int64_t>(entry.blocks) <= 0) return;
    complete_ =
        snapshot_.freed.blocks.push_back({stack, thread, entry.blocks, entry.bytes}) && complete_;
  });
}

ALLOCTAP_INLINE AllocationTotals SnapshotBuilder::add_stacks(const StackTotals& stacks) noexcept {
  AllocationTotals sum;
  stacks.for_each([&](StackId stack, const AllocationTotals& of_thread) {
    snapshot_.stacks[stack].total += of_thread;
    sum += of_thread;
  });
  return sum;
}

ALLOCTAP_INLINE void SnapshotBuilder::add_live() noexcept {
  if (!data_.sampling.is_exact()) add_estimates();
  data_.for_each_live(
      [this](const void* pointer, const BlockRecord& record) { add_block(pointer, record); });
}

ALLOCTAP_INLINE void SnapshotBuilder::add_block(const void* pointer,
                                                const BlockRecord& record) noexcept {
  if (data_.sampling.is_exact()) {
    live_.add(record);
  } else {
    live_.add_sample(record, data_.sampling.weight(record.size));
  }
  if (options_.blocks) keep_block(pointer, record);
}

ALLOCTAP_INLINE void SnapshotBuilder::add_estimates() noexcept {
  const auto rounded = [](double number) { return static_cast<std::uint64_t>(number + 0.5); };
  for (StackId stack = kUnknownStack; stack < snapshot_.stacks.size(); ++stack) {
    const StackEstimate estimate = data_.sampling.estimate(stack);
    snapshot_.stacks[stack].total = {
        .allocations = rounded(estimate.allocations),
        .allocated_bytes = rounded(estimate.allocated_bytes),
        .temporary_allocations = rounded(estimate.temporary_allocations)};
  }
}

/// Reserves memory for the current blocks and some more, and touches that memory in advance.
ALLOCTAP_INLINE void SnapshotBuilder::expect_blocks() noexcept {
  std::size_t blocks = 0;
  data_.for_each_live([&](const void*, const BlockRecord&) { ++blocks; });
  complete_ = snapshot_.blocks.resize(blocks + blocks / 8) && complete_;
  snapshot_.blocks.clear();
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void SnapshotBuilder::keep_block(
    const void* pointer, const BlockRecord& record) noexcept {
  const LiveBlock block{.address = reinterpret_cast<std::uintptr_t>(pointer),
                        .size = record.size,
                        .stack = record.stack,
                        .age_ns = age_of(pointer)};
  complete_ = snapshot_.blocks.push_back(block) && complete_;
}

/// Returns the age of a block. Returns -1 with sampling, because the index has no sampled blocks.
ALLOCTAP_INLINE std::int64_t SnapshotBuilder::age_of(const void* pointer) const noexcept {
  if (data_.age_ns == nullptr || !data_.sampling.is_exact()) return -1;
  return data_.age_ns(pointer);
}

ALLOCTAP_INLINE void SnapshotBuilder::add_mappings() noexcept {
  data_.mappings.for_each([this](const MappingRecord& mapping) {
    complete_ = snapshot_.mappings.push_back({mapping.stack, 1, mapping.length}) && complete_;
  });
}

ALLOCTAP_INLINE void SnapshotBuilder::read_counters() noexcept {
  counters_ = data_.threads.counters();
  snapshot_.mapping_totals = data_.mappings.totals();
  snapshot_.totals.peak_live_bytes = data_.threads.live().peak();
  snapshot_.account.tracker_bytes = Arena::mapped_bytes();
}

ALLOCTAP_INLINE void SnapshotBuilder::read_log() noexcept {
  if (data_.cut_log == nullptr) return;
  complete_ = data_.cut_log(snapshot_.events) && complete_;
  snapshot_.account.unlogged_events = snapshot_.events.missed;
}

/// Copies the last recorded peak, unless more bytes are live now; then the current state is the
/// peak. The peak tracker ignores a small excess over the last recorded peak.
ALLOCTAP_INLINE void SnapshotBuilder::read_peak() noexcept {
  const Peak& last = data_.peak.last();
  peak_is_now_ = last.live_bytes < live_.live_bytes();
  if (!peak_is_now_) complete_ = copy_peak(last) && complete_;
}

/// Compacts the list in place to stacks with allocations. Mapping a second list would be slow.
ALLOCTAP_INLINE void SnapshotBuilder::finish_stacks() noexcept {
  ArenaArray<StackSummary>& stacks = snapshot_.stacks;
  std::size_t in_use = 0;
  for (StackId stack = kUnknownStack; stack < stacks.size(); ++stack) {
    const AllocationTotals total = stacks[stack].total;
    const std::uint64_t blocks = live_.of(stack).whole_blocks();
    const std::uint64_t bytes = live_.of(stack).whole_bytes();
    snapshot_.totals.live_allocations += blocks;
    snapshot_.totals.live_bytes += bytes;
    if (data_.sampling.is_exact()) add_calls(total);
    if (total.allocations > 0) stacks[in_use++] = {stack, total, blocks, bytes};
  }
  stacks.shrink(in_use);
  join_equal(snapshot_.mappings, &MappingSummary::stack,
             [](MappingSummary& sum, const MappingSummary& next) {
               sum.live_mappings += next.live_mappings;
               sum.live_bytes += next.live_bytes;
             });
}

ALLOCTAP_INLINE void SnapshotBuilder::add_calls(const AllocationTotals& calls) noexcept {
  Totals& totals = snapshot_.totals;
  totals.allocations += calls.allocations;
  totals.allocated_bytes += calls.allocated_bytes;
  totals.temporary_allocations += calls.temporary_allocations;
}

/// Adds the calls that each thread counts in its own counters while sampling.
ALLOCTAP_INLINE void SnapshotBuilder::add_sampled_calls() noexcept {
  snapshot_.totals.deallocations = 0;
  for (const ThreadSummary& thread : snapshot_.threads) {
    add_calls(thread.total);
    snapshot_.totals.deallocations += thread.deallocations;
  }
}

ALLOCTAP_INLINE void SnapshotBuilder::finish_counters() noexcept {
  snapshot_.totals.deallocations = counters_.deallocations;
  if (!data_.sampling.is_exact()) add_sampled_calls();
  const MappingTotals& mappings = snapshot_.mapping_totals;
  DataQuality& account = snapshot_.account;
  account.unmatched_frees = counters_.unmatched_frees;
  account.unseen_frees = counters_.unseen_frees;
  account.failed_unwinds = counters_.failed_unwinds;
  account.frame_pointer_unwinds = counters_.frame_pointer_unwinds;
  account.truncated_stacks = counters_.truncated_stacks;
  account.dropped = counters_.dropped + mappings.dropped;
  account.events = snapshot_.totals.allocations + snapshot_.totals.deallocations +
                   counters_.unmatched_frees + mappings.mappings + mappings.unmappings;
}

ALLOCTAP_INLINE bool SnapshotBuilder::finish_peak() noexcept {
  if (!peak_is_now_) return true;
  snapshot_.peak.time_ns = snapshot_.time_ns;
  snapshot_.peak.live_bytes = snapshot_.totals.live_bytes;
  if (!snapshot_.peak.stacks.reserve(live_.held_stacks())) return false;
  for (StackId stack = kUnknownStack; stack < live_.end_stack(); ++stack) {
    const std::uint64_t blocks = live_.of(stack).whole_blocks();
    if (blocks == 0) continue;
    if (!snapshot_.peak.stacks.push_back({stack, blocks, live_.of(stack).whole_bytes()})) {
      return false;
    }
  }
  return true;
}

ALLOCTAP_INLINE bool SnapshotBuilder::copy_peak(const Peak& peak) noexcept {
  snapshot_.peak.time_ns = peak.time_ns;
  snapshot_.peak.live_bytes = peak.live_bytes;
  if (!snapshot_.peak.stacks.resize(peak.stacks.size())) return false;
  std::copy(peak.stacks.begin(), peak.stacks.end(), snapshot_.peak.stacks.begin());
  return true;
}

ALLOCTAP_INLINE bool add_timeline(Timeline& timeline, Snapshot& snapshot) noexcept {
  for (const TimelinePoint& point : timeline.points()) {
    if (!snapshot.timeline.push_back(point)) return false;
  }
  bool kept = true;
  snapshot.forgotten_markers =
      timeline.for_each_marker([&](std::int64_t time_ns, std::string_view name) {
        const std::string_view copy = snapshot.names.keep(name);
        kept = kept && copy.size() == name.size() && snapshot.markers.push_back({time_ns, copy});
      });
  const Totals& totals = snapshot.totals;
  return kept && snapshot.timeline.push_back({.time_ns = snapshot.time_ns,
                                              .live_bytes = totals.live_bytes,
                                              .live_allocations = totals.live_allocations,
                                              .allocations = totals.allocations,
                                              .allocated_bytes = totals.allocated_bytes,
                                              .resident_bytes = os::resident_bytes()});
}

}  // namespace alloctap
