/// The table "misuses" of a recording: memory errors that checks found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "alloctap/check/call_names.hpp"
#include "alloctap/check/misuse_keys.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/dump/record_numbers.hpp"
#include "alloctap/dump/record_reader.hpp"
#include "alloctap/dump/record_writer.hpp"
#include "alloctap/os/heap_handle.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Writes the table. Kinds are names from schema alloctap.heap/1. Stacks are ids; `kNoStackId`
/// means no stack. Column "block" is 1 if the block is known.
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
