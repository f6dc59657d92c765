/// Writers and readers of a recording's tables of sums, blocks, tags, threads, pools and misuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "alloctap/check/misuse_log.hpp"
#include "alloctap/dump/recording/record_format.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/heap_handle.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/tag/tag_table.hpp"

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
  record.begin_table(
      "threads", {{kNumber, "id"}, {kText, "name"}, {kNumber, "number"}, {kNumber, "tells_live"}},
      kFieldColumns<ThreadSummary, ThreadSummary::Holding>);
  for (const ThreadSummary& thread : snapshot.threads) {
    record.row(static_cast<std::uint64_t>(thread.thread_id), thread.name(), thread.number,
               thread.holding.has_value());
    write_values(record, thread);
    write_values(record, thread.holding.value_or(ThreadSummary::Holding()));
  }
  record.end_table();
}

/// Writes table "freed": freed blocks by allocating stack and freeing thread. Column "thread" is an
/// index into "threads".
inline void write_given_back(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  if (snapshot.freed.blocks.empty()) return;
  record.begin_table("freed", {{kNumber, "stack"}, {kNumber, "thread"}},
                     kFieldColumns<FreesByThread>);
  for (const FreesByThread& freed : snapshot.freed.blocks) {
    record.row(freed.stack, freed.thread);
    write_values(record, freed);
  }
  record.end_table();
}

/// Writes table "offences": violations of no-allocation scopes.
inline void write_scope_offences(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  if (snapshot.scope_offences.empty()) return;
  record.begin_table("offences", {{kText, "scope"}, {kNumber, "stack"}}, kFieldColumns<OffenceSum>);
  for (const OffenceSum& offence : snapshot.scope_offences) {
    record.row(offence.scope(), offence.stack);
    write_values(record, offence);
  }
  record.end_table();
}

/// Returns the violation that a row of the table "offences" describes. `stack` is the row's stack.
[[nodiscard]] inline OffenceSum saved_offence(const RecordReader& row, StackId stack) noexcept {
  OffenceSum offence{.stack = stack};
  read_values(row, offence);
  row.text("scope").copy(offence.name_text, OffenceSum::kLongestName);
  return offence;
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

/// Tags that were read from a recording, with their recorded ids. Not thread-safe.
class SavedOwners {
 public:
  /// Records that the recorded tracker had a tag table, which may be empty.
  void expect_tags() noexcept { known_ = true; }

  /// Adds the next tag. Returns false without adding anything if the row is invalid.
  [[nodiscard]] bool add_tag(const RecordReader& row) noexcept {
    const TagId next = tags_->end_id();
    const std::uint64_t parent = row.number("parent");
    known_ = true;
    return parent < next &&
           tags_->find_or_add(static_cast<TagId>(parent), row.text("name")) == next;
  }

  /// Returns the id of the last tag plus 1.
  [[nodiscard]] std::size_t tags_so_far() const noexcept { return tags_->end_id(); }
  [[nodiscard]] bool knows(std::uint64_t tag) const noexcept { return tag < tags_->end_id(); }
  /// Returns the name of a known tag, without the names of its parents.
  [[nodiscard]] std::string_view name(TagId tag) const noexcept { return tags_->name(tag); }

  /// Reads the tag and thread that own the stack in `row`. Returns false if either is invalid.
  [[nodiscard]] bool read_owner(const RecordReader& row, StackOwner& owner) const noexcept {
    const std::uint64_t tag = row.number("tag");
    const std::uint64_t thread = row.number("thread");
    if (!knows(tag) || thread > std::numeric_limits<ThreadNumber>::max()) return false;
    owner = {.tag = static_cast<TagId>(tag), .thread = static_cast<ThreadNumber>(thread)};
    return true;
  }

  /// Returns nullptr if the recorded tracker had no tag table.
  [[nodiscard]] const TagTable* tags() const noexcept { return known_ ? tags_.get() : nullptr; }

 private:
  std::unique_ptr<TagTable> tags_ = std::make_unique<TagTable>();
  bool known_ = false;
};

/// Returns the thread that a row of the table "threads" describes.
[[nodiscard]] inline ThreadSummary saved_thread(const RecordReader& row) noexcept {
  ThreadSummary thread{.thread_id = static_cast<os::ThreadId>(row.number("id")),
                       .number = static_cast<ThreadNumber>(row.number("number"))};
  read_values(row, thread);
  thread.name_bytes = row.text("name").copy(thread.name_text.data(), thread.name_text.size());
  if (row.number("tells_live") == 0) return thread;
  thread.holding = ThreadSummary::Holding();
  read_values(row, *thread.holding);
  return thread;
}

/// Writes the pool tables, or nothing if the tracker does not observe pools. Column "pool" of "pool
/// stacks" is the index of a row of "pools". `SavedPools` reads the tables.
inline void write_pools(RecordWriter& record, const PoolsSummary& pools) {
  using enum RecordKind;
  if (!pools.known) return;
  record.begin_table("pool numbers", {{kText, "key"}, {kNumber, "value"}});
  visit_fields(pools, [&](std::string_view key, const auto& value) {
    // A number that is unknown has no row.
    if constexpr (requires { value.has_value(); }) {
      if (value) record.row(key, *value);
    } else {
      record.row(key, value);
    }
  });
  record.end_table();
  record.begin_table("pools", {{kText, "name"}}, kFieldColumns<PoolSummary>);
  for (const PoolSummary& pool : pools.pools) {
    record.row(pool.name);
    write_values(record, pool);
  }
  record.end_table();
  record.begin_table("pool stacks", {{kNumber, "pool"}, {kNumber, "stack"}},
                     kFieldColumns<PoolStackSummary>);
  for (std::size_t i = 0; i < pools.pools.size(); ++i) {
    for (const PoolStackSummary& held : pools.stacks_of(pools.pools[i])) {
      record.row(i, held.stack);
      write_values(record, held);
    }
  }
  record.end_table();
}

/// Reader of a recording's pool tables. Uses arena memory. Not thread-safe.
class SavedPools {
 public:
  SavedPools() noexcept { pools_.unknown_frees.reset(); }

  [[nodiscard]] static bool knows(std::string_view table) noexcept {
    return table == "pool numbers" || table == "pools" || table == "pool stacks";
  }

  /// Adds a row of a pool table. `stack` is the stack in the row's column "stack". Returns false
  /// without adding anything if the row is invalid.
  [[nodiscard]] bool read(const RecordReader& row, StackId stack) {
    pools_.known = true;
    if (row.table() == "pools") return add_pool(row);
    if (row.table() == "pool stacks") return add_stack(row, stack);
    add_number(row);
    return true;
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the pools that were read. Call it once.
  [[nodiscard]] PoolsSummary take() noexcept { return std::move(pools_); }

 private:
  void add_number(const RecordReader& row) {
    visit_fields(pools_, [&](std::string_view key, auto& number) {
      if (key == row.text("key")) number = row.number("value");
    });
  }

  bool add_pool(const RecordReader& row) {
    PoolSummary pool{.name = row.text("name")};
    read_values(row, pool);
    if (pool.live_allocations > pool.allocations || pool.live_bytes > pool.allocated_bytes) {
      return false;
    }
    complete_ = pools_.pools.push_back(pool) && complete_;
    return true;
  }

  /// Adds a stack of a pool. Rows must be grouped by pool.
  bool add_stack(const RecordReader& row, StackId stack) {
    const std::uint64_t number = row.number("pool");
    if (number >= pools_.pools.size() || number < last_pool_) return false;
    last_pool_ = number;
    PoolSummary& pool = pools_.pools[number];
    if (pool.stack_count == 0) pool.first_stack = pools_.stacks.size();
    PoolStackSummary held{.stack = stack};
    read_values(row, held);
    if (!pools_.stacks.push_back(held)) {
      complete_ = false;
      return true;
    }
    ++pool.stack_count;
    return true;
  }

  PoolsSummary pools_;
  std::uint64_t last_pool_ = 0;
  bool complete_ = true;
};

/// Writes table "misuses". Kinds are names from schema alloctap.heap/1. Stacks are ids;
/// `kNoStackId` means no stack. Column "block" is 1 if the block is known.
inline void write_misuses(RecordWriter& record, const Snapshot& snapshot) {
  using enum RecordKind;
  if (snapshot.misuses.empty()) return;
  record.begin_table("misuses", {{kText, "kind"},
                                 {kNumber, "times"},
                                 {kText, "call"},
                                 {kNumber, "by_sweep"},
                                 {kNumber, "address"},
                                 {kNumber, "stated_size"},
                                 {kNumber, "stated_alignment"},
                                 {kNumber, "heap"},
                                 {kNumber, "found.stack"},
                                 {kNumber, "found.thread"},
                                 {kSigned, "found.time_ns"},
                                 {kNumber, "block"},
                                 {kNumber, "freed"},
                                 {kNumber, "block.address"},
                                 {kNumber, "block.size"},
                                 {kNumber, "block.alignment"},
                                 {kText, "block.kind"},
                                 {kText, "block.freed_by"},
                                 {kNumber, "block.heap"},
                                 {kNumber, "allocated.stack"},
                                 {kNumber, "allocated.thread"},
                                 {kSigned, "allocated.time_ns"},
                                 {kNumber, "gone.stack"},
                                 {kNumber, "gone.thread"},
                                 {kSigned, "gone.time_ns"},
                                 {kNumber, "changed"},
                                 {kSigned, "changed.first"},
                                 {kSigned, "changed.last"},
                                 {kNumber, "changed.expected"},
                                 {kText, "changed.found"},
                                 {kText, "function"},
                                 {kNumber, "access"},
                                 {kNumber, "bytes"},
                                 {kNumber, "writes"},
                                 {kNumber, "source"}});
  const auto write_call = [&](const BlockCall& call) {
    record.value(call.stack);
    record.value(static_cast<std::uint64_t>(call.thread));
    record.value(call.time_ns);
  };
  for (const CountedMisuse& counted : snapshot.misuses) {
    const Misuse& misuse = counted.first;
    const BlockHistory& block = misuse.block;
    const ChangedBytes& changed = misuse.changed;
    const std::string_view found(reinterpret_cast<const char*>(changed.found.data()),
                                 changed.shown);
    record.row(key_of(misuse.kind), counted.times, name_of(misuse.call), misuse.by_sweep,
               misuse.address, misuse.stated_size, misuse.stated_alignment,
               os::number_of(misuse.heap));
    write_call(misuse.found);
    const auto write_values = [&](const auto&... values) { (record.value(values), ...); };
    write_values(block.known, block.freed, block.address, block.size, block.alignment,
                 name_of(block.kind), name_of(block.freed_by), os::number_of(block.heap));
    write_call(block.allocated);
    write_call(block.gone);
    write_values(changed.count, changed.first, changed.last, changed.expected, found,
                 misuse.access.function, misuse.access.address, misuse.access.bytes,
                 misuse.access.writes, misuse.source);
  }
  record.end_table();
}

/// Reader of a row of table "misuses". `stack_of(column)` returns the stack in a column of the row.
template <class StackOf>
class MisuseRow {
 public:
  MisuseRow(const RecordReader& row, StackOf stack_of) noexcept : row_(row), stack_of_(stack_of) {}

  /// Reads the row into `counted`. Returns false if the misuse's kind is unknown.
  [[nodiscard]] bool read(CountedMisuse& counted) const {
    Misuse& misuse = counted.first;
    if (!read_kind(misuse.kind)) return false;
    counted.times = row_.number("times");
    misuse.call = named<DeallocationKind>("call", DeallocationKind::kCustom);
    misuse.by_sweep = row_.number("by_sweep") != 0;
    misuse.address = row_.number("address");
    misuse.stated_size = row_.number("stated_size");
    misuse.stated_alignment = row_.number("stated_alignment");
    misuse.heap = os::heap_of(row_.number("heap"));
    misuse.found = {.stack = stack_of_("found.stack"),
                    .thread = static_cast<os::ThreadId>(row_.number("found.thread")),
                    .time_ns = sane_time(row_.signed_number("found.time_ns"))};
    misuse.block = block();
    misuse.changed = changed();
    misuse.access = {.function = row_.text("function"),
                     .address = row_.number("access"),
                     .bytes = row_.number("bytes"),
                     .writes = row_.number("writes") != 0};
    misuse.source = row_.number("source");
    return true;
  }

 private:
  [[nodiscard]] bool read_kind(MisuseKind& kind) const noexcept {
    const std::optional<MisuseKind> named = misuse_kind_of(row_.text("kind"));
    kind = named.value_or(kind);
    return named.has_value();
  }

  template <class Kind>
  [[nodiscard]] Kind named(std::string_view column, Kind last) const noexcept {
    for (std::uint8_t i = 0; i < static_cast<std::uint8_t>(last); ++i) {
      if (name_of(static_cast<Kind>(i)) == row_.text(column)) return static_cast<Kind>(i);
    }
    return last;
  }

  [[nodiscard]] BlockHistory block() const {
    return {.known = row_.number("block") != 0,
            .freed = row_.number("freed") != 0,
            .address = row_.number("block.address"),
            .size = row_.number("block.size"),
            .alignment = row_.number("block.alignment"),
            .kind = named<AllocationKind>("block.kind", AllocationKind::kCustom),
            .freed_by = named<DeallocationKind>("block.freed_by", DeallocationKind::kCustom),
            .allocated = {.stack = stack_of_("allocated.stack"),
                          .thread = static_cast<os::ThreadId>(row_.number("allocated.thread")),
                          .time_ns = sane_time(row_.signed_number("allocated.time_ns"))},
            .gone = {.stack = stack_of_("gone.stack"),
                     .thread = static_cast<os::ThreadId>(row_.number("gone.thread")),
                     .time_ns = sane_time(row_.signed_number("gone.time_ns"))},
            .heap = os::heap_of(row_.number("block.heap"))};
  }

  [[nodiscard]] ChangedBytes changed() const noexcept {
    ChangedBytes changed{.count = row_.number("changed"),
                         .first = row_.signed_number("changed.first"),
                         .last = row_.signed_number("changed.last"),
                         .expected = static_cast<std::uint8_t>(row_.number("changed.expected"))};
    for (const char byte : row_.text("changed.found").substr(0, ChangedBytes::kMaxShown)) {
      changed.found[changed.shown++] = static_cast<std::uint8_t>(byte);
    }
    return changed;
  }

  const RecordReader& row_;
  StackOf stack_of_;
};

}  // namespace alloctap
