/// The scalar members of a snapshot, and their keys in a recording.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Clamps a recorded time to 2^61 ns, so that differences do not overflow. 2^61 nanoseconds are 73
/// years, and times count from 1970.
[[nodiscard]] constexpr std::int64_t sane_time(std::int64_t time_ns) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  return std::clamp(time_ns, -kMost, kMost);
}

/// Calls `visit(key, number)` with a reference to each number, for writing and for reading.
/// `SnapshotType` is `Snapshot`, const or not. Leaves out `account.unmatched_frees`, which is
/// optional.
template <class SnapshotType, class Visit>
void visit_numbers(SnapshotType& snapshot, Visit&& visit) {
  visit("time_ns", snapshot.time_ns);
  visit("account.events", snapshot.account.events);
  visit("account.dropped", snapshot.account.dropped);
  visit("account.unseen_frees", snapshot.account.unseen_frees);
  visit("account.failed_unwinds", snapshot.account.failed_unwinds);
  visit("account.frame_pointer_unwinds", snapshot.account.frame_pointer_unwinds);
  visit("account.truncated_stacks", snapshot.account.truncated_stacks);
  visit("account.tracker_bytes", snapshot.account.tracker_bytes);
  visit("account.pauses", snapshot.account.pauses);
  visit("account.unlogged_events", snapshot.account.unlogged_events);
  visit("account.consistent", snapshot.account.consistent);
  visit("totals.allocations", snapshot.totals.allocations);
  visit("totals.deallocations", snapshot.totals.deallocations);
  visit("totals.allocated_bytes", snapshot.totals.allocated_bytes);
  visit("totals.live_allocations", snapshot.totals.live_allocations);
  visit("totals.live_bytes", snapshot.totals.live_bytes);
  visit("totals.peak_live_bytes", snapshot.totals.peak_live_bytes);
  visit("totals.temporary_allocations", snapshot.totals.temporary_allocations);
  visit("mappings.mappings", snapshot.mapping_totals.mappings);
  visit("mappings.mapped_bytes", snapshot.mapping_totals.mapped_bytes);
  visit("mappings.unmappings", snapshot.mapping_totals.unmappings);
  visit("mappings.live_mappings", snapshot.mapping_totals.live_mappings);
  visit("mappings.live_bytes", snapshot.mapping_totals.live_bytes);
  visit("mappings.peak_live_bytes", snapshot.mapping_totals.peak_live_bytes);
  visit("mappings.dropped", snapshot.mapping_totals.dropped);
  visit("sampling.exact", snapshot.sampling.exact);
  visit("sampling.mean_bytes", snapshot.sampling.policy.mean_bytes);
  visit("sampling.min_bytes", snapshot.sampling.policy.min_bytes);
  visit("sampling.max_bytes", snapshot.sampling.policy.max_bytes);
  visit("sampling.live_samples", snapshot.sampling.live_samples);
  visit("sampling.live_bytes_margin", snapshot.sampling.live_bytes_margin);
  visit("markers.forgotten", snapshot.forgotten_markers);
  visit("scan.done", snapshot.scan.done);
  visit("scan.unseen_threads", snapshot.scan.unseen_threads);
  visit("scan.unread_bytes", snapshot.scan.unread_bytes);
  visit("scan.stopped_ns", snapshot.scan.stopped_ns);
  visit("scan.scan_ns", snapshot.scan.scan_ns);
  visit("freed.knowledge", snapshot.freed.knowledge);
  visit("misuses.left_out", snapshot.misuses_left_out);
  visit("checks.blocks", snapshot.checks.blocks);
  visit("checks.kinds", snapshot.checks.kinds);
  visit("checks.unknown_pointers", snapshot.checks.unknown_pointers);
  visit("checks.strings", snapshot.checks.strings);
  visit("checks.front_guard", snapshot.checks.front_guard);
  visit("checks.rear_guard", snapshot.checks.rear_guard);
  visit("checks.expand", snapshot.checks.expand);
  visit("checks.fill_on_allocate", snapshot.checks.fill_on_allocate);
  visit("checks.fill_on_free", snapshot.checks.fill_on_free);
  visit("checks.quarantine_blocks", snapshot.checks.quarantine_blocks);
  visit("checks.guard_pages", snapshot.checks.guard_pages);
  visit("guard_pages.one_in", snapshot.guards.one_in);
  visit("guard_pages.placed", snapshot.guards.placed);
  visit("guard_pages.fell_back", snapshot.guards.fell_back);
  visit("guard_pages.passed_over", snapshot.guards.passed_over);
  visit("peak.time_ns", snapshot.peak.time_ns);
  visit("peak.live_bytes", snapshot.peak.live_bytes);
}

}  // namespace alloctap
