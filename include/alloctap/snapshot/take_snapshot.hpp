/// Filling a snapshot from a tracker's tables.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "alloctap/macros.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/join_equal.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/sample/stack_estimates.hpp"
#include "alloctap/snapshot/frees_by_thread.hpp"
#include "alloctap/snapshot/game_frame_rows.hpp"
#include "alloctap/snapshot/live_sums.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/tag_overheads.hpp"
#include "alloctap/snapshot/thread_holdings.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Sums up what a `Source` holds: a recorder, or what looks like one (`meta()`, `stacks()`,
/// `tags()`, `for_each_totals(visit)`, `counters()`, `peak_live_bytes()`, `sampling()`, `peak()`).
/// Its `kMaySample`, if there is one, is false where `sampling().estimates` is always nullptr.
/// Control plane.
///
/// In three steps, because the program's threads wait during the second: it is made, it reads, it
/// finishes.
template <class Source>
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(Source& source, SnapshotOptions options = {}) noexcept
      : source_(source), options_(options) {
    snapshot_.table = &source.stacks();
    snapshot_.tags = source.tags().tags;
    // Some stacks may come until the threads wait.
    const std::size_t stacks = snapshot_.table->end_id() + kMoreStacks;
    complete_ = expect_stacks(stacks);
    if (options_.blocks) expect_blocks();
    if (options_.freed) snapshot_.freed.knowledge = known_of_freed(source_, exact());
  }

  /// Reads all that may change; the caller has stopped all recording.
  void read() noexcept {
    snapshot_.time_ns = os::wall_clock_ns();
    const std::size_t stacks =
        std::max<std::size_t>(snapshot_.stacks.size(), snapshot_.table->end_id());
    complete_ = complete_ && expect_stacks(stacks);
    if (!complete_) return;
    add_threads();
    add_live();
    add_mappings();
    read_counters();
    read_peak();
    read_log();
    complete_ = read_overheads(snapshot_.tags, snapshot_.overheads) && complete_;
    if constexpr (kHasFrames) {
      complete_ = source_.add_observed(snapshot_) && complete_;
    }
  }

  /// What was read; recording may go on meanwhile. Fails where the system has no memory for it.
  [[nodiscard]] Result<Snapshot> finish() {
    if (complete_) finish_stacks();
    if (!complete_ || !finish_peak() || !add_holdings(snapshot_, source_.tags())) {
      return Status::resource_exhausted("snapshot: the system has no memory for it");
    }
    snapshot_.sizes = live_.sizes();
    snapshot_.sampling = {.policy = view_.policy,
                          .exact = exact(),
                          .live_samples = live_.samples(),
                          .live_bytes_margin = live_.margin()};
    finish_counters();
    if constexpr (kHasFrames) {
      if (!GameFrameRows(snapshot_).finish()) {
        return Status::resource_exhausted("snapshot: the system has no memory for frames");
      }
    }
    name_threads({snapshot_.threads.data(), snapshot_.threads.size()});
    std::sort(snapshot_.blocks.begin(), snapshot_.blocks.end(),
              [](const LiveBlock& a, const LiveBlock& b) { return a.address < b.address; });
    return std::move(snapshot_);
  }

 private:
  static constexpr std::size_t kMoreStacks = 1024;
  static constexpr bool kIsExact = requires { requires !Source::kMaySample; };
  static constexpr bool kHasFrames =
      requires(Source& source, Snapshot& snapshot) { source.add_observed(snapshot); };

  /// Makes room for stacks below `end`; until `finish_stacks`, those of the snapshot lie by
  /// StackId.
  [[nodiscard]] bool expect_stacks(std::size_t end) noexcept {
    return snapshot_.stacks.resize(end) && live_.expect_stacks(end);
  }

  [[nodiscard]] bool exact() const noexcept { return kIsExact || view_.estimates == nullptr; }

  void add_threads() {
    source_.for_each_totals([&](const ThreadStats& totals, const ThreadState& thread) {
      ThreadSummary summary{
          .thread_id = thread.thread_id.load(std::memory_order_relaxed),
          .threads = thread.generation,
          .total = exact() ? add_stacks(totals.stacks) : totals.calls.totals(),
          .deallocations = exact() ? totals.recorded.deallocations() : totals.calls.deallocations(),
          .net_bytes = totals.live.total.load(std::memory_order_relaxed),
          .number = thread.number};
      complete_ = snapshot_.threads.push_back(summary) && complete_;
      if (!snapshot_.freed.is_told()) return;
      const auto place = static_cast<std::uint32_t>(snapshot_.threads.size() - 1);
      complete_ = snapshot_.freed.add(place, totals.freed) && complete_;
    });
  }

  AllocationTotals add_stacks(const StackTotals& stacks) {
    AllocationTotals sum;
    stacks.for_each([&](StackId stack, const AllocationTotals& of_thread) {
      snapshot_.stacks[stack].total += of_thread;
      sum += of_thread;
    });
    return sum;
  }

  /// What `for_each_live` calls: one type for all, because what visits a container is much code.
  class LiveVisitor {
   public:
    explicit LiveVisitor(SnapshotBuilder& builder, std::size_t* count = nullptr) noexcept
        : builder_(builder), count_(count) {}

    void operator()(const void* pointer, const BlockRecord& record) const noexcept {
      if (count_ == nullptr) return builder_.add_block(pointer, record);
      ++*count_;
    }

   private:
    SnapshotBuilder& builder_;
    /// nullptr unless blocks are only counted.
    std::size_t* count_;
  };

  void add_live() {
    if constexpr (!kIsExact) {
      if (!exact()) add_estimates();
    }
    source_.for_each_live(LiveVisitor(*this));
  }

  void add_block(const void* pointer, const BlockRecord& record) noexcept {
    if (exact()) {
      live_.add(record);
    } else {
      live_.add_sample(record, view_.weight(record.size));
    }
    if (options_.blocks) keep_block(pointer, record);
  }

  void add_estimates() {
    for (StackId stack = kUnknownStack; stack < snapshot_.stacks.size(); ++stack) {
      const StackEstimates::Estimate estimate = view_.estimates->of(stack);
      snapshot_.stacks[stack].total = {
          .allocations = rounded(estimate.allocations),
          .allocated_bytes = rounded(estimate.allocated_bytes),
          .temporary_allocations = rounded(estimate.temporary_allocations)};
    }
  }

  static std::uint64_t rounded(double number) noexcept {
    return static_cast<std::uint64_t>(number + 0.5);
  }

  /// Makes room for about as many as there are, in pages that the system has mapped.
  void expect_blocks() noexcept {
    std::size_t blocks = 0;
    source_.for_each_live(LiveVisitor(*this, &blocks));
    complete_ = snapshot_.blocks.resize(blocks + blocks / 8) && complete_;
    snapshot_.blocks.clear();
  }

  ALLOCTAP_NOINLINE void keep_block(const void* pointer, const BlockRecord& record) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const LiveBlock block{
        .address = address, .size = record.size, .stack = record.stack, .age_ns = age_of(pointer)};
    complete_ = snapshot_.blocks.push_back(block) && complete_;
  }

  /// Samples are not in the container.
  std::int64_t age_of([[maybe_unused]] const void* pointer) noexcept {
    if constexpr (requires { source_.meta().age_ns(pointer); }) {
      if (view_.estimates == nullptr) return source_.meta().age_ns(pointer);
    }
    return -1;
  }

  void add_mappings() {
    source_.meta().mappings().for_each([this](const MappingRecord& mapping) {
      complete_ = snapshot_.mappings.push_back({mapping.stack, 1, mapping.length}) && complete_;
    });
  }

  /// Leaves those that were ever used, in place: for many stacks, each list takes the system a
  /// good part of the time that all of this takes.
  void finish_stacks() noexcept {
    ArenaArray<StackSummary>& stacks = snapshot_.stacks;
    std::size_t in_use = 0;
    for (StackId stack = kUnknownStack; stack < stacks.size(); ++stack) {
      const AllocationTotals total = stacks[stack].total;
      const std::uint64_t blocks = live_.of(stack).whole_blocks();
      const std::uint64_t bytes = live_.of(stack).whole_bytes();
      snapshot_.totals.live_allocations += blocks;
      snapshot_.totals.live_bytes += bytes;
      if (exact()) add_calls(total);
      if (total.allocations > 0) stacks[in_use++] = {stack, total, blocks, bytes};
    }
    stacks.shrink(in_use);
    join_equal(snapshot_.mappings, &MappingSummary::stack,
               [](MappingSummary& sum, const MappingSummary& next) {
                 sum.live_mappings += next.live_mappings;
                 sum.live_bytes += next.live_bytes;
               });
  }

  void add_calls(const AllocationTotals& calls) noexcept {
    Totals& totals = snapshot_.totals;
    totals.allocations += calls.allocations;
    totals.allocated_bytes += calls.allocated_bytes;
    totals.temporary_allocations += calls.temporary_allocations;
  }

  /// While a policy samples, threads count their calls, without waiting for a snapshot.
  void add_sampled_calls() noexcept {
    snapshot_.totals.deallocations = 0;
    for (const ThreadSummary& thread : snapshot_.threads) {
      add_calls(thread.total);
      snapshot_.totals.deallocations += thread.deallocations;
    }
  }

  void read_counters() noexcept {
    counters_ = source_.counters();
    snapshot_.mapping_totals = source_.meta().mappings().totals();
    snapshot_.totals.peak_live_bytes = source_.peak_live_bytes();
    snapshot_.account.tracker_bytes = Arena::mapped_bytes();
  }

  void read_log() noexcept {
    if constexpr (requires { source_.queue().log(); }) {
      complete_ = source_.queue().log().cut(snapshot_.events) && complete_;
      snapshot_.account.unlogged_events = snapshot_.events.missed;
    }
  }

  void finish_counters() noexcept {
    snapshot_.totals.deallocations = counters_.deallocations;
    if (!exact()) add_sampled_calls();
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

  /// What is live now is the peak if it is more than at the last fall from one: then the peak is
  /// now, or so little above that nobody took a picture.
  void read_peak() noexcept {
    const Peak& last = source_.peak();
    peak_is_now_ = last.live_bytes < live_.live_bytes();
    if (!peak_is_now_) complete_ = copy_peak(last) && complete_;
  }

  bool finish_peak() noexcept {
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

  bool copy_peak(const Peak& peak) noexcept {
    snapshot_.peak.time_ns = peak.time_ns;
    snapshot_.peak.live_bytes = peak.live_bytes;
    if (!snapshot_.peak.stacks.resize(peak.stacks.size())) return false;
    std::copy(peak.stacks.begin(), peak.stacks.end(), snapshot_.peak.stacks.begin());
    return true;
  }

  Source& source_;
  const SnapshotOptions options_;
  const SamplingView view_ = source_.sampling();
  Snapshot snapshot_;
  EventCounters counters_;
  LiveSums live_;
  bool peak_is_now_ = false;
  /// False: the system had no memory for a list.
  bool complete_ = true;
};

}  // namespace alloctap
