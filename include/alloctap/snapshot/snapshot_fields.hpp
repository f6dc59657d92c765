/// The fields of the summaries in a snapshot, for writing and reading them.
///
/// The writers of JSON reports and recordings, and the reader of recordings, use these lists. To
/// add a field, add a member to its summary, a line here, and a description in dump/README.md.
///
/// `visit_fields(summary, visit)` calls `visit(name, field)` for each field. For a field that is
/// omitted at a certain value, it calls `visit(name, field, value)`. Names that end in `_bytes` or
/// `_ns` state the unit; the other fields are counts or booleans.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "alloctap/record/heap_summary.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

template <class Summary, class Of>
concept FieldsOf = std::same_as<std::remove_const_t<Summary>, Of>;

/// A default-constructed summary, for visits that use only the names and types of fields.
template <class Summary>
inline constexpr Summary kEmpty{};

template <FieldsOf<DataQuality> Summary>
constexpr void visit_fields(Summary& quality, auto&& visit) {
  visit("events", quality.events);
  visit("dropped", quality.dropped);
  visit("unmatched_frees", quality.unmatched_frees);
  visit("unseen_frees", quality.unseen_frees);
  visit("failed_unwinds", quality.failed_unwinds);
  visit("frame_pointer_unwinds", quality.frame_pointer_unwinds);
  visit("truncated_stacks", quality.truncated_stacks);
  visit("tracker_bytes", quality.tracker_bytes);
  visit("pauses", quality.pauses);
  visit("unlogged_events", quality.unlogged_events);
  visit("consistent", quality.consistent);
}

template <FieldsOf<Totals> Summary>
constexpr void visit_fields(Summary& totals, auto&& visit) {
  visit("allocations", totals.allocations);
  visit("deallocations", totals.deallocations);
  visit("allocated_bytes", totals.allocated_bytes);
  visit("live_allocations", totals.live_allocations);
  visit("live_bytes", totals.live_bytes);
  visit("peak_live_bytes", totals.peak_live_bytes);
  visit("temporary_allocations", totals.temporary_allocations);
}

template <FieldsOf<MappingTotals> Summary>
constexpr void visit_fields(Summary& totals, auto&& visit) {
  visit("mappings", totals.mappings);
  visit("unmappings", totals.unmappings);
  visit("mapped_bytes", totals.mapped_bytes);
  visit("live_mappings", totals.live_mappings);
  visit("live_bytes", totals.live_bytes);
  visit("peak_live_bytes", totals.peak_live_bytes);
  visit("dropped", totals.dropped);
}

template <FieldsOf<SamplingSummary> Summary>
constexpr void visit_fields(Summary& sampling, auto&& visit) {
  visit("exact", sampling.exact);
  visit("mean_bytes", sampling.policy.mean_bytes, std::uint64_t{0});
  visit("min_bytes", sampling.policy.min_bytes, std::uint64_t{0});
  visit("max_bytes", sampling.policy.max_bytes, UINT64_MAX);
  visit("live_samples", sampling.live_samples);
  visit("live_bytes_margin", sampling.live_bytes_margin);
}

template <FieldsOf<ScanSummary> Summary>
constexpr void visit_fields(Summary& scan, auto&& visit) {
  visit("unseen_threads", scan.unseen_threads);
  visit("unread_bytes", scan.unread_bytes);
  visit("stopped_ns", scan.stopped_ns);
  visit("scan_ns", scan.scan_ns);
}

/// Fields of `CheckSettings`. JSON reports write them as strings.
template <FieldsOf<CheckSettings> Summary>
constexpr void visit_fields(Summary& checks, auto&& visit) {
  visit("blocks", checks.blocks);
  visit("kinds", checks.kinds);
  visit("unknown_pointers", checks.unknown_pointers);
  visit("strings", checks.strings);
  visit("front_guard", checks.front_guard);
  visit("rear_guard", checks.rear_guard);
  visit("expand", checks.expand);
  visit("fill_on_allocate", checks.fill_on_allocate);
  visit("fill_on_free", checks.fill_on_free);
  visit("quarantine_blocks", checks.quarantine_blocks);
  visit("guard_pages", checks.guard_pages);
}

template <FieldsOf<GuardPageStats> Summary>
constexpr void visit_fields(Summary& guards, auto&& visit) {
  visit("one_in", guards.one_in);
  visit("placed", guards.placed);
  visit("fell_back", guards.fell_back);
  visit("passed_over", guards.passed_over);
}

/// Fields of `StackSummary` without `unreachable`, whose fields are listed separately.
template <FieldsOf<StackSummary> Summary>
constexpr void visit_fields(Summary& stack, auto&& visit) {
  visit("allocations", stack.total.allocations);
  visit("allocated_bytes", stack.total.allocated_bytes);
  visit("temporary_allocations", stack.total.temporary_allocations);
  visit("live_allocations", stack.live_allocations);
  visit("live_bytes", stack.live_bytes);
}

template <FieldsOf<OffenceSum> Summary>
constexpr void visit_fields(Summary& offence, auto&& visit) {
  visit("scopes", offence.scopes);
  visit("allocations", offence.sums.allocations);
  visit("allocated_bytes", offence.sums.bytes);
  visit("frees", offence.sums.frees);
}

template <FieldsOf<UnreachableSum> Summary>
constexpr void visit_fields(Summary& sum, auto&& visit) {
  visit("definite_allocations", sum.definite_allocations);
  visit("definite_bytes", sum.definite_bytes);
  visit("indirect_allocations", sum.indirect_allocations);
  visit("indirect_bytes", sum.indirect_bytes);
}

template <FieldsOf<MappingSummary> Summary>
constexpr void visit_fields(Summary& mapping, auto&& visit) {
  visit("live_mappings", mapping.live_mappings);
  visit("live_bytes", mapping.live_bytes);
}

template <FieldsOf<PeakStackSummary> Summary>
constexpr void visit_fields(Summary& held, auto&& visit) {
  visit("live_allocations", held.live_allocations);
  visit("live_bytes", held.live_bytes);
}

template <FieldsOf<SizeClass> Summary>
constexpr void visit_fields(Summary& size, auto&& visit) {
  visit("live_allocations", size.live_allocations);
  visit("live_bytes", size.live_bytes);
}

template <FieldsOf<TimelinePoint> Summary>
constexpr void visit_fields(Summary& point, auto&& visit) {
  visit("time_ns", point.time_ns);
  visit("live_bytes", point.live_bytes);
  visit("live_allocations", point.live_allocations);
  visit("allocations", point.allocations);
  visit("allocated_bytes", point.allocated_bytes);
  visit("resident_bytes", point.resident_bytes);
}

template <FieldsOf<ThreadSummary> Summary>
constexpr void visit_fields(Summary& thread, auto&& visit) {
  visit("alive", thread.alive);
  visit("threads", thread.threads);
  visit("allocations", thread.total.allocations);
  visit("allocated_bytes", thread.total.allocated_bytes);
  visit("temporary_allocations", thread.total.temporary_allocations);
  visit("deallocations", thread.deallocations);
  visit("net_bytes", thread.net_bytes);
}

template <FieldsOf<ThreadSummary::Holding> Summary>
constexpr void visit_fields(Summary& holding, auto&& visit) {
  visit("live_allocations", holding.live_allocations);
  visit("live_bytes", holding.live_bytes);
}

template <FieldsOf<FreesByThread> Summary>
constexpr void visit_fields(Summary& freed, auto&& visit) {
  visit("blocks", freed.blocks);
  visit("bytes", freed.bytes);
}

/// Fields of all pools together.
template <FieldsOf<PoolsSummary> Summary>
constexpr void visit_fields(Summary& pools, auto&& visit) {
  visit("unknown_frees", pools.unknown_frees);
  visit("wrong_pool_frees", pools.wrong_pool_frees);
  visit("announced_twice", pools.announced_twice);
  visit("unknown_pools", pools.unknown_pools);
  visit("dropped", pools.dropped);
  visit("refused_pools", pools.refused_pools);
}

template <FieldsOf<PoolSummary> Summary>
constexpr void visit_fields(Summary& pool, auto&& visit) {
  visit("destroyed", pool.destroyed);
  visit("allocations", pool.allocations);
  visit("allocated_bytes", pool.allocated_bytes);
  visit("live_allocations", pool.live_allocations);
  visit("live_bytes", pool.live_bytes);
  visit("peak_live_bytes", pool.peak_live_bytes);
  visit("overhead_bytes", pool.overhead_bytes);
}

template <FieldsOf<PoolStackSummary> Summary>
constexpr void visit_fields(Summary& held, auto&& visit) {
  visit("allocations", held.allocations);
  visit("allocated_bytes", held.allocated_bytes);
  visit("live_allocations", held.live_allocations);
  visit("live_bytes", held.live_bytes);
}

template <FieldsOf<FrameTotals> Summary>
constexpr void visit_fields(Summary& totals, auto&& visit) {
  visit("frames", totals.frames);
  visit("refused_marks", totals.refused_marks);
  visit("marking_thread_changes", totals.marking_thread_changes);
  visit("lost_events", totals.lost_events);
  visit("forgotten_offences", totals.forgotten_offences);
}

template <FieldsOf<FrameCounts> Summary>
constexpr void visit_fields(Summary& counts, auto&& visit) {
  visit("allocations", counts.allocations);
  visit("allocated_bytes", counts.allocated_bytes);
  visit("deallocations", counts.deallocations);
  visit("freed_bytes", counts.freed_bytes);
  visit("allocator_ns", counts.allocator_ns);
}

template <FieldsOf<TagOfFrame> Summary>
constexpr void visit_fields(Summary& tag, auto&& visit) {
  visit_fields(tag.counts, visit);
  visit("held_bytes", tag.held_bytes);
  visit("peak_bytes", tag.peak_bytes);
}

template <FieldsOf<FrameSummary> Summary>
constexpr void visit_fields(Summary& frame, auto&& visit) {
  visit("number", frame.number);
  visit("begin_ns", frame.begin_ns);
  visit("duration_ns", frame.duration_ns);
  visit_fields(frame.counts, visit);
  visit("held_bytes", frame.held_bytes);
  visit("peak_bytes", frame.peak_bytes);
}

/// Fields of `WorstFrame` without its slowest call and its stacks.
template <FieldsOf<WorstFrame> Summary>
constexpr void visit_fields(Summary& frame, auto&& visit) {
  visit("number", frame.number);
  visit("begin_ns", frame.begin_ns);
  visit("duration_ns", frame.duration_ns);
  visit_fields(frame.counts, visit);
}

template <FieldsOf<StackOfFrame> Summary>
constexpr void visit_fields(Summary& stack, auto&& visit) {
  visit("allocations", stack.allocations);
  visit("allocated_bytes", stack.allocated_bytes);
  visit("allocator_ns", stack.allocator_ns);
}

template <FieldsOf<LimitSummary> Summary>
constexpr void visit_fields(Summary& limit, auto&& visit) {
  visit("limit", limit.limit, kUnlimited);
  visit("value", limit.value);
  visit("most", limit.most);
  visit("offences", limit.offences);
}

template <FieldsOf<BudgetOffence> Summary>
constexpr void visit_fields(Summary& offence, auto&& visit) {
  visit("limit", offence.limit);
  visit("value", offence.value);
  visit("frame", offence.frame);
  visit("time_ns", offence.time_ns);
}

}  // namespace alloctap
