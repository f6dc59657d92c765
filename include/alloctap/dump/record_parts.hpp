/// Tables of a recording that copy the arrays of a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/record_fields.hpp"
#include "alloctap/dump/record_writer.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Writes a table of summaries, one row for each stack.
template <class Summary>
void write_sums_of_stacks(RecordWriter& record, std::string_view table,
                          const ArenaArray<Summary>& summaries) {
  record.begin_table(table, {{RecordKind::kNumber, "stack"}}, kFieldColumns<Summary>);
  for (const Summary& summary : summaries) {
    record.row(summary.stack);
    write_values(record, summary);
  }
  record.end_table();
}

/// Writes tables "allocations", "mappings" and "peak", with a row of sums for each stack.
inline void write_sums(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  record.begin_table("allocations", {{kNumber, "stack"}},
                     kFieldColumns<StackSummary, UnreachableSum>);
  for (const StackSummary& stack : snapshot.stacks) {
    record.row(stack.stack);
    write_values(record, stack);
    write_values(record, stack.unreachable);
  }
  record.end_table();
  write_sums_of_stacks(record, "mappings", snapshot.mappings);
  write_sums_of_stacks(record, "peak", snapshot.peak.stacks);
}

/// Writes tables "timeline" and "markers".
inline void write_past(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  record.begin_table("timeline", {}, kFieldColumns<TimelinePoint>);
  for (const TimelinePoint& point : snapshot.timeline) {
    record.begin_row();
    write_values(record, point);
  }
  record.end_table();
  record.begin_table("markers", {{kSigned, "time_ns"}, {kText, "name"}});
  for (const Marker& marker : snapshot.markers) record.row(marker.time_ns, marker.name);
  record.end_table();
}

/// Writes table "tags" by id, from 1. Column "parent" is an id, or 0 for a root tag. If a tag names
/// an allocator, `overhead_bytes` is the memory that the allocator holds beyond its blocks.
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

/// Writes table "threads". Numbers of live memory are valid if `tells_live` is 1.
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

/// Writes table "freed": freed blocks by allocating stack and freeing thread. Column "thread" is an
/// index into "threads".
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

/// Writes tables "sizes" and "blocks". Column "age" is nanoseconds plus 1, or 0 if unknown.
inline void write_blocks(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  record.begin_table("sizes", {{kNumber, "class"}}, kFieldColumns<SizeClass>);
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    record.row(i);
    write_values(record, snapshot.sizes[i]);
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
