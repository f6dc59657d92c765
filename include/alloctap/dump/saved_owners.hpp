/// Tags and threads read from a recording.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "alloctap/dump/record_reader.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/snapshot/thread_summary.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

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
                       .alive = row.number("alive") != 0,
                       .threads = static_cast<std::uint32_t>(row.number("threads")),
                       .total = {.allocations = row.number("allocations"),
                                 .allocated_bytes = row.number("allocated_bytes"),
                                 .temporary_allocations = row.number("temporary_allocations")},
                       .deallocations = row.number("deallocations"),
                       .net_bytes = row.signed_number("net_bytes"),
                       .number = static_cast<ThreadNumber>(row.number("number"))};
  thread.name_bytes = row.text("name").copy(thread.name_text.data(), thread.name_text.size());
  if (row.number("tells_live") != 0) {
    thread.holding = {{.live_allocations = row.number("live_allocations"),
                       .live_bytes = row.number("live_bytes")}};
  }
  return thread;
}

}  // namespace alloctap
