/// Tables of a recording that copy the arrays of a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/record_writer.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Writes "allocations", "mappings" and "peak": the sums of each stack.
inline void write_sums(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  record.begin_table("allocations", {{kNumber, "stack"},
                                     {kNumber, "allocations"},
                                     {kNumber, "allocated_bytes"},
                                     {kNumber, "temporary_allocations"},
                                     {kNumber, "live_allocations"},
                                     {kNumber, "live_bytes"},
                                     {kNumber, "definite_allocations"},
                                     {kNumber, "definite_bytes"},
                                     {kNumber, "indirect_allocations"},
                                     {kNumber, "indirect_bytes"}});
  for (const StackSummary& stack : snapshot.stacks) {
    const UnreachableSum& unreachable = stack.unreachable;
    record.row(stack.stack, stack.total.allocations, stack.total.allocated_bytes,
               stack.total.temporary_allocations, stack.live_allocations, stack.live_bytes,
               unreachable.definite_allocations, unreachable.definite_bytes,
               unreachable.indirect_allocations, unreachable.indirect_bytes);
  }
  record.end_table();
  record.begin_table("mappings",
                     {{kNumber, "stack"}, {kNumber, "live_mappings"}, {kNumber, "live_bytes"}});
  for (const MappingSummary& mapping : snapshot.mappings) {
    record.row(mapping.stack, mapping.live_mappings, mapping.live_bytes);
  }
  record.end_table();
  record.begin_table("peak",
                     {{kNumber, "stack"}, {kNumber, "live_allocations"}, {kNumber, "live_bytes"}});
  for (const PeakStackSummary& held : snapshot.peak.stacks) {
    record.row(held.stack, held.live_allocations, held.live_bytes);
  }
  record.end_table();
}

/// Writes "timeline" and "markers".
inline void write_past(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  record.begin_table("timeline", {{kSigned, "time_ns"},
                                  {kNumber, "live_bytes"},
                                  {kNumber, "live_allocations"},
                                  {kNumber, "allocations"},
                                  {kNumber, "allocated_bytes"},
                                  {kNumber, "resident_bytes"}});
  for (const TimelinePoint& point : snapshot.timeline) {
    record.row(point.time_ns, point.live_bytes, point.live_allocations, point.allocations,
               point.allocated_bytes, point.resident_bytes);
  }
  record.end_table();
  record.begin_table("markers", {{kSigned, "time_ns"}, {kText, "name"}});
  for (const Marker& marker : snapshot.markers) record.row(marker.time_ns, marker.name);
  record.end_table();
}

/// Writes "tags" by id, from 1; a parent is an id, or 0 for a root. `overhead_bytes` is what the
/// allocator that the tag names holds beyond its blocks.
inline void write_tags(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  if (snapshot.tags == nullptr) return;
  record.begin_table("tags", {{kNumber, "parent"}, {kText, "name"}, {kNumber, "overhead_bytes"}});
  for (TagId tag = 1; tag < snapshot.tags->end_id(); ++tag) {
    record.row(snapshot.tags->parent(tag), snapshot.tags->name(tag),
               tag < snapshot.overheads.size() ? snapshot.overheads[tag] : 0);
  }
  record.end_table();
}

/// Writes "threads"; live numbers are valid if `tells_live` is 1.
inline void write_threads(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  record.begin_table("threads", {{kNumber, "id"},
                                 {kText, "name"},
                                 {kNumber, "alive"},
                                 {kNumber, "threads"},
                                 {kNumber, "allocations"},
                                 {kNumber, "allocated_bytes"},
                                 {kNumber, "temporary_allocations"},
                                 {kNumber, "deallocations"},
                                 {kSigned, "net_bytes"},
                                 {kNumber, "number"},
                                 {kNumber, "tells_live"},
                                 {kNumber, "live_allocations"},
                                 {kNumber, "live_bytes"}});
  for (const ThreadSummary& thread : snapshot.threads) {
    const ThreadSummary::Holding holding = thread.holding.value_or(ThreadSummary::Holding());
    record.row(static_cast<std::uint64_t>(thread.thread_id), thread.name(), thread.alive,
               thread.threads, thread.total.allocations, thread.total.allocated_bytes,
               thread.total.temporary_allocations, thread.deallocations, thread.net_bytes,
               thread.number, thread.holding.has_value(), holding.live_allocations,
               holding.live_bytes);
  }
  record.end_table();
}

/// Writes "freed": each stack's blocks by freeing thread, an index into "threads".
inline void write_given_back(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  if (snapshot.freed.blocks.empty()) return;
  record.begin_table(
      "freed", {{kNumber, "stack"}, {kNumber, "thread"}, {kNumber, "blocks"}, {kNumber, "bytes"}});
  for (const FreesByThread& freed : snapshot.freed.blocks) {
    record.row(freed.stack, freed.thread, freed.blocks, freed.bytes);
  }
  record.end_table();
}

/// Writes "sizes" and "blocks"; an `age` is nanoseconds plus 1, or 0 if unknown.
inline void write_blocks(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  record.begin_table("sizes",
                     {{kNumber, "class"}, {kNumber, "live_allocations"}, {kNumber, "live_bytes"}});
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    record.row(i, snapshot.sizes[i].live_allocations, snapshot.sizes[i].live_bytes);
  }
  record.end_table();
  record.begin_table(
      "blocks", {{kNumber, "address"}, {kNumber, "size"}, {kNumber, "stack"}, {kNumber, "age"}});
  for (const LiveBlock& block : snapshot.blocks) {
    record.row(block.address, block.size, block.stack,
               static_cast<std::uint64_t>(block.age_ns + 1));
  }
  record.end_table();
}

}  // namespace alloctap
