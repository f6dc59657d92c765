/// A builder of snapshots from a recorder's data: live sums, game frames, timeline, observed parts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/sample/poisson_sampler.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// Sums of live blocks by stack and by size class. Computed while the world is stopped, with two
/// array updates per block. With sampling, the sums are Horvitz-Thompson estimates, which add the
/// weight w of each sample. The variance estimate is the sum of size^2 w (w - 1) over the samples.
/// Not thread-safe. Allocated in the arena.
class LiveSums {
 public:
  /// Sums of weights. The sums are integers if every weight is 1.
  struct Sum {
    double blocks = 0;
    double bytes = 0;

    [[nodiscard]] std::uint64_t whole_blocks() const noexcept { return rounded(blocks); }
    [[nodiscard]] std::uint64_t whole_bytes() const noexcept { return rounded(bytes); }
  };

  /// Reserves memory for stacks with ids below `end`. Returns false if out of memory.
  [[nodiscard]] bool expect_stacks(std::size_t end) noexcept { return by_stack_.resize(end); }

  /// Adds a block with weight 1. Precondition: `expect_stacks` covers its stack.
  void add(const BlockRecord& record) noexcept {
    ++samples_;
    add(record, 1);
  }

  /// Adds a sampled block of weight `weight`.
  void add_sample(const BlockRecord& record, double weight) noexcept {
    const double bytes = static_cast<double>(record.size);
    variance_ += bytes * bytes * weight * (weight - 1);
    ++samples_;
    add(record, weight);
  }

  /// Returns the bound that was passed to `expect_stacks`.
  [[nodiscard]] std::size_t end_stack() const noexcept { return by_stack_.size(); }
  /// Returns the number of stacks with live blocks.
  [[nodiscard]] std::size_t held_stacks() const noexcept {
    return static_cast<std::size_t>(std::count_if(
        by_stack_.begin(), by_stack_.end(), [](const Sum& sum) { return sum.whole_blocks() > 0; }));
  }
  [[nodiscard]] const Sum& of(StackId stack) const noexcept { return by_stack_[stack]; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }

  [[nodiscard]] SizeHistogram sizes() const noexcept {
    SizeHistogram sizes;
    for (std::size_t i = 0; i < kSizeClasses; ++i) {
      sizes[i] = {by_size_[i].whole_blocks(), by_size_[i].whole_bytes()};
    }
    return sizes;
  }

  [[nodiscard]] std::uint64_t live_bytes() const noexcept {
    double bytes = 0;
    for (const Sum& sum : by_size_) bytes += sum.bytes;
    return rounded(bytes);
  }

  /// Returns the half-width of the 95 % confidence interval around `live_bytes`.
  [[nodiscard]] std::uint64_t margin() const noexcept {
    constexpr double kDeviationsFor95Percent = 1.96;
    return rounded(kDeviationsFor95Percent * square_root(variance_));
  }

 private:
  static std::uint64_t rounded(double number) noexcept {
    return static_cast<std::uint64_t>(number + 0.5);
  }

  void add(const BlockRecord& record, double weight) noexcept {
    const double bytes = weight * static_cast<double>(record.size);
    Sum& stack = by_stack_[record.stack];
    stack.blocks += weight;
    stack.bytes += bytes;
    Sum& size = by_size_[size_class(record.size)];
    size.blocks += weight;
    size.bytes += bytes;
  }

  /// Sums by StackId.
  ArenaArray<Sum> by_stack_;
  std::array<Sum, kSizeClasses> by_size_{};
  double variance_ = 0;
  std::uint64_t samples_ = 0;
};

/// Computes the tags and sums of a snapshot's game frames from its per-thread rows. Works
/// backwards: held bytes at a frame's end are the live bytes now minus all later changes.
class GameFrameRows {
 public:
  /// Stores a reference to `snapshot`. Precondition: its stacks and totals are complete.
  explicit GameFrameRows(Snapshot& snapshot) noexcept
      : snapshot_(snapshot), history_(snapshot.frames) {}

  /// Fills `last` and `tags`. Returns false if out of memory.
  [[nodiscard]] bool finish() {
    if (!history_.known) return true;
    if (!begin_with_live()) return false;
    std::sort(history_.rows.begin(), history_.rows.end(), [](const FrameRow& a, const FrameRow& b) {
      return std::tie(b.frame, a.tag) < std::tie(a.frame, b.tag);
    });
    const FrameRow* row = history_.rows.begin();
    for (std::size_t i = history_.last.size(); i > 0; --i) {
      FrameSummary& frame = history_.last[i - 1];
      row = undo_later(row, frame.number);
      row = add_rows(row, frame);
    }
    history_.rows = {};
    return complete_;
  }

 private:
  /// Sum over all threads of the rows for one tag in one game frame.
  struct Sum {
    TagId tag = kNoTag;
    FrameCounts counts{};
    std::uint64_t rise = 0;
  };

  bool begin_with_live() {
    const Result<ArenaArray<TagSummary>> sums = sum_by_tag(snapshot_);
    if (!sums.ok() || !held_.resize(sums->size())) return false;
    for (std::size_t i = 0; i < sums->size(); ++i) held_[i] = (*sums)[i].own.live_bytes;
    held_in_all_ = snapshot_.totals.live_bytes;
    return true;
  }

  [[nodiscard]] const FrameRow* end() const noexcept { return history_.rows.end(); }

  /// Sums the rows with the tag and game frame of `row`, and moves `row` behind the rows.
  Sum sum_up(const FrameRow*& row) const noexcept {
    const FrameRow first = *row;
    Sum sum{.tag = first.tag};
    for (; row != end() && row->frame == first.frame && row->tag == first.tag; ++row) {
      sum.counts += row->counts;
      sum.rise += row->rise;
    }
    return sum;
  }

  /// Subtracts rows of frames after `number` from `held_`. Returns the first row not subtracted.
  const FrameRow* undo_later(const FrameRow* row, FrameNumber number) noexcept {
    while (row != end() && row->frame > number) {
      const Sum sum = sum_up(row);
      go_back(held_of(sum.tag), sum.counts);
    }
    return row;
  }

  const FrameRow* add_rows(const FrameRow* row, FrameSummary& frame) noexcept {
    frame.held_bytes = frame.peak_bytes = held_in_all_;
    frame.first_tag = static_cast<std::uint32_t>(history_.tags.size());
    while (row != end() && row->frame == frame.number) {
      const Sum sum = sum_up(row);
      std::uint64_t& held = held_of(sum.tag);
      const std::uint64_t held_at_end = held;
      go_back(held, sum.counts);
      if (sum.tag == kAllTags) {
        frame.counts = sum.counts;
        frame.peak_bytes = std::max(held_at_end, held + sum.rise);
      } else {
        add_tag(sum, held_at_end, std::max(held_at_end, held + sum.rise));
      }
    }
    frame.tag_count = static_cast<std::uint32_t>(history_.tags.size()) - frame.first_tag;
    return row;
  }

  void add_tag(const Sum& sum, std::uint64_t held, std::uint64_t peak) noexcept {
    const bool is_one = sum.tag != kOtherTags;
    complete_ = history_.tags.push_back({.tag = sum.tag,
                                         .counts = sum.counts,
                                         .held_bytes = is_one ? held : 0,
                                         .peak_bytes = is_one ? peak : 0}) &&
                complete_;
  }

  /// Subtracts the net allocation of `counts` from `held`. Clamps at 0, because `held` would become
  /// negative after a free that the hook missed.
  static void go_back(std::uint64_t& held, const FrameCounts& counts) noexcept {
    held += counts.freed_bytes;
    held -= std::min(held, counts.allocated_bytes);
  }

  std::uint64_t& held_of(TagId tag) noexcept {
    if (tag == kAllTags) return held_in_all_;
    return tag < held_.size() ? held_[tag] : held_of_others_;
  }

  Snapshot& snapshot_;
  FrameHistory& history_;
  /// Held bytes, indexed by TagId.
  ArenaArray<std::uint64_t> held_;
  std::uint64_t held_in_all_ = 0;
  std::uint64_t held_of_others_ = 0;
  bool complete_ = true;
};

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
