/// Filling a snapshot from a tracker's tables.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "alloctap/guard/arena.hpp"
#include "alloctap/guard/thread_state.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/thread_totals.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/sample/elementary_functions.hpp"
#include "alloctap/sample/stack_estimates.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// Sums up what a `Source` holds: a recorder, or what looks like one (`meta()`, `stacks()`,
/// `for_each_totals(visit)`, `counters()`, `peak_live_bytes()`, `sampling()`, `peak()`). The caller
/// has stopped all recording. Control plane.
///
/// Where samples stand for more than themselves, what is live is the Horvitz-Thompson estimate: the
/// sum of weights w, whose variance is estimated by the sum of size^2 w (w - 1) over the samples.
template <class Source>
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(Source& source, SnapshotOptions options = {}) noexcept
      : source_(source), options_(options) {
    snapshot_.table = &source.stacks();
    snapshot_.time_ns = os::wall_clock_ns();
  }

  /// Fails where the system has no memory for it.
  [[nodiscard]] absl::Status build() {
    if (!sums_.resize(snapshot_.table->end_id())) return no_memory();
    add_threads();
    if (view_.estimates != nullptr) add_estimates();
    add_live_blocks();
    describe_sampling();
    add_mappings();
    if (!keep_stacks_in_use() || !complete_) return no_memory();
    add_counters();
    return choose_peak() ? absl::OkStatus() : no_memory();
  }

  /// The snapshot that was built. Recording may go on meanwhile.
  [[nodiscard]] Snapshot take() noexcept {
    name_threads({snapshot_.threads.data(), snapshot_.threads.size()});
    std::sort(snapshot_.blocks.begin(), snapshot_.blocks.end(),
              [](const LiveBlock& a, const LiveBlock& b) { return a.address < b.address; });
    return std::move(snapshot_);
  }

 private:
  /// All that is known of one stack.
  struct Sums {
    AllocationTotals total;
    /// Whole numbers, unless they are estimated.
    double live_blocks = 0;
    double live_bytes = 0;
    std::uint64_t mappings = 0;
    std::uint64_t mapped_bytes = 0;
  };

  struct SizeSums {
    double live_blocks = 0;
    double live_bytes = 0;
  };

  static absl::Status no_memory() {
    return absl::ResourceExhaustedError("snapshot: the system has no memory for it");
  }

  void add_threads() {
    const bool exact = view_.estimates == nullptr;
    source_.for_each_totals([&](const ThreadTotals& totals, const ThreadState& thread) {
      ThreadSummary summary{
          .thread_id = thread.thread_id.load(std::memory_order_relaxed),
          .threads = thread.generation,
          .total = exact ? add_stacks(totals.stacks) : totals.calls.totals(),
          .deallocations = exact ? totals.events.deallocations : totals.calls.deallocations(),
          .net_bytes = totals.live.total.load(std::memory_order_relaxed)};
      complete_ = snapshot_.threads.push_back(summary) && complete_;
    });
  }

  AllocationTotals add_stacks(const StackTotals& stacks) {
    AllocationTotals sum;
    stacks.for_each([&](StackId stack, const AllocationTotals& of_thread) {
      sums_[stack].total += of_thread;
      sum += of_thread;
    });
    return sum;
  }

  void add_estimates() {
    for (StackId stack = kUnknownStack; stack < sums_.size(); ++stack) {
      const StackEstimates::Estimate estimate = view_.estimates->of(stack);
      sums_[stack].total = {.allocations = rounded(estimate.allocations),
                            .allocated_bytes = rounded(estimate.allocated_bytes),
                            .temporary_allocations = rounded(estimate.temporary_allocations)};
    }
  }

  void add_live_blocks() {
    source_.for_each_live([this](const void* pointer, const BlockRecord& record) {
      const double weight = view_.weight(record.size);
      const double bytes = static_cast<double>(record.size);
      sums_[record.stack].live_blocks += weight;
      sums_[record.stack].live_bytes += weight * bytes;
      SizeSums& sizes = sizes_[size_class(record.size)];
      sizes.live_blocks += weight;
      sizes.live_bytes += weight * bytes;
      variance_ += bytes * bytes * weight * (weight - 1);
      ++samples_;
      if (options_.blocks) keep_block(pointer, record);
    });
    for (std::size_t i = 0; i < kSizeClasses; ++i) {
      snapshot_.sizes[i] = {.live_allocations = rounded(sizes_[i].live_blocks),
                            .live_bytes = rounded(sizes_[i].live_bytes)};
    }
  }

  void keep_block(const void* pointer, const BlockRecord& record) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    complete_ = snapshot_.blocks.push_back({address, record.size, record.stack}) && complete_;
  }

  void describe_sampling() noexcept {
    constexpr double kDeviationsFor95Percent = 1.96;
    const bool exact = view_.estimates == nullptr;
    snapshot_.sampling = {
        .policy = view_.policy,
        .exact = exact,
        .live_samples = samples_,
        .live_bytes_margin = rounded(kDeviationsFor95Percent * square_root(variance_))};
  }

  static std::uint64_t rounded(double number) noexcept {
    return static_cast<std::uint64_t>(number + 0.5);
  }

  void add_mappings() {
    source_.meta().mappings().for_each([this](const MappingRecord& mapping) {
      ++sums_[mapping.stack].mappings;
      sums_[mapping.stack].mapped_bytes += mapping.length;
    });
  }

  bool keep_stacks_in_use() {
    for (StackId stack = kUnknownStack; stack < sums_.size(); ++stack) {
      const Sums& sums = sums_[stack];
      add_to_totals(sums);
      if (sums.total.allocations > 0 &&
          !snapshot_.stacks.push_back(
              {stack, sums.total, rounded(sums.live_blocks), rounded(sums.live_bytes)})) {
        return false;
      }
      if (sums.mappings > 0 &&
          !snapshot_.mappings.push_back({stack, sums.mappings, sums.mapped_bytes})) {
        return false;
      }
    }
    return true;
  }

  void add_to_totals(const Sums& sums) noexcept {
    Totals& totals = snapshot_.totals;
    totals.live_allocations += rounded(sums.live_blocks);
    totals.live_bytes += rounded(sums.live_bytes);
    if (view_.estimates == nullptr) add_calls(sums.total);
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

  void add_counters() noexcept {
    const EventCounters counters = source_.counters();
    snapshot_.mapping_totals = source_.meta().mappings().totals();
    snapshot_.totals.deallocations = counters.deallocations;
    if (view_.estimates != nullptr) add_sampled_calls();
    snapshot_.totals.peak_live_bytes = source_.peak_live_bytes();
    Account& account = snapshot_.account;
    account.unmatched_frees = counters.unmatched_frees;
    account.unseen_frees = counters.unseen_frees;
    account.failed_unwinds = counters.failed_unwinds;
    account.truncated_stacks = counters.truncated_stacks;
    account.dropped = counters.dropped + snapshot_.mapping_totals.dropped;
    account.tracker_bytes = Arena::mapped_bytes();
    account.events = snapshot_.totals.allocations + snapshot_.totals.deallocations +
                     counters.unmatched_frees + snapshot_.mapping_totals.mappings +
                     snapshot_.mapping_totals.unmappings;
  }

  /// What is live now, if that is more than at the last fall from a peak: then the peak is now, or
  /// so little above that nobody took a picture.
  bool choose_peak() noexcept {
    const Peak& last = source_.peak();
    if (last.live_bytes >= snapshot_.totals.live_bytes) return copy_peak(last);
    snapshot_.peak.time_ns = snapshot_.time_ns;
    snapshot_.peak.live_bytes = snapshot_.totals.live_bytes;
    for (StackId stack = kUnknownStack; stack < sums_.size(); ++stack) {
      const std::uint64_t blocks = rounded(sums_[stack].live_blocks);
      if (blocks == 0) continue;
      const std::uint64_t bytes = rounded(sums_[stack].live_bytes);
      if (!snapshot_.peak.stacks.push_back({stack, blocks, bytes})) return false;
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
  std::array<SizeSums, kSizeClasses> sizes_{};
  double variance_ = 0;
  std::uint64_t samples_ = 0;
  /// False: the system had no memory for a list.
  bool complete_ = true;
  /// By StackId.
  ArenaArray<Sums> sums_;
};

}  // namespace alloctap
