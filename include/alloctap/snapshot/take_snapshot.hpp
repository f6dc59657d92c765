/// Filling a snapshot from a tracker's tables.
#pragma once

#include <absl/status/status.h>

#include "alloctap/guard/arena.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// Sums up `meta` and `table`. The caller has stopped all recording. Control plane.
template <MetaContainer Meta>
class SnapshotBuilder {
 public:
  SnapshotBuilder(Meta& meta, const StackTable& table) noexcept : meta_(meta) {
    snapshot_.table = &table;
    snapshot_.time_ns = os::wall_clock_ns();
  }

  /// Everything but the counters that the container does not know. Fails where the system has no
  /// memory for it.
  [[nodiscard]] absl::Status build() {
    if (!live_.resize(snapshot_.table->end_id()) || !mapped_.resize(snapshot_.table->end_id())) {
      return no_memory();
    }
    add_live_blocks();
    add_mappings();
    if (!keep_stacks_in_use()) return no_memory();
    add_counters();
    return absl::OkStatus();
  }

  [[nodiscard]] Snapshot take() noexcept { return std::move(snapshot_); }

 private:
  struct Live {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
  };

  static absl::Status no_memory() {
    return absl::ResourceExhaustedError("snapshot: the system has no memory for it");
  }

  void add_live_blocks() {
    meta_.for_each_live([this](const void*, const BlockRecord& record) {
      ++live_[record.stack].blocks;
      live_[record.stack].bytes += record.size;
    });
  }

  void add_mappings() {
    meta_.mappings().for_each([this](const MappingRecord& mapping) {
      ++mapped_[mapping.stack].blocks;
      mapped_[mapping.stack].bytes += mapping.length;
    });
  }

  bool keep_stacks_in_use() {
    for (StackId stack = kUnknownStack; stack < live_.size(); ++stack) {
      const AllocationTotals total = meta_.totals(stack);
      const Live& live = live_[stack];
      const Live& mapped = mapped_[stack];
      add_to_totals(total, live);
      if (total.allocations > 0 &&
          !snapshot_.stacks.push_back({stack, total, live.blocks, live.bytes})) {
        return false;
      }
      if (mapped.blocks > 0 &&
          !snapshot_.mappings.push_back({stack, mapped.blocks, mapped.bytes})) {
        return false;
      }
    }
    return true;
  }

  void add_to_totals(const AllocationTotals& total, const Live& live) noexcept {
    Totals& totals = snapshot_.totals;
    totals.allocations += total.allocations;
    totals.allocated_bytes += total.allocated_bytes;
    totals.temporary_allocations += total.temporary_allocations;
    totals.live_allocations += live.blocks;
    totals.live_bytes += live.bytes;
  }

  void add_counters() noexcept {
    const ContainerCounters counters = meta_.counters();
    snapshot_.mapping_totals = meta_.mappings().totals();
    snapshot_.totals.deallocations = counters.deallocations;
    snapshot_.totals.peak_live_bytes = counters.peak_live_bytes;
    Account& account = snapshot_.account;
    account.unmatched_frees = counters.unmatched_frees;
    account.unseen_frees = counters.unseen_frees;
    account.dropped = counters.dropped + snapshot_.mapping_totals.dropped;
    account.tracker_bytes = Arena::mapped_bytes();
    account.events = snapshot_.totals.allocations + snapshot_.totals.deallocations +
                     counters.unmatched_frees + snapshot_.mapping_totals.mappings +
                     snapshot_.mapping_totals.unmappings;
  }

  Meta& meta_;
  Snapshot snapshot_;
  ArenaArray<Live> live_;
  ArenaArray<Live> mapped_;
};

}  // namespace alloctap
