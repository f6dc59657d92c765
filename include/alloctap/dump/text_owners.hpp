/// Tags and threads in the text report.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/owner_labels.hpp"
#include "alloctap/dump/printable_text.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/ownership_matrix.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Writer of a line for each tag, thread, and pair of threads if one freed blocks that the other
/// allocated. Omits unrecorded data. The snapshot and the writer must outlive this object.
class TextOwners {
 public:
  TextOwners(const Snapshot& snapshot, DumpWriter& out) noexcept
      : snapshot_(snapshot), labels_(snapshot), out_(out) {}

  void write() {
    if (!labels_.complete()) return fail();
    if (snapshot_.tags != nullptr) write_tags();
    write_threads();
    write_ownership();
  }

  /// Returns the full path of a tag, or "(no tag)".
  [[nodiscard]] std::string_view path_of(TagId tag) const noexcept {
    const std::string_view path = labels_.tags().of(tag);
    return path.empty() ? std::string_view("(no tag)") : path;
  }

  /// Writes a line with the tag and the thread of a stack; writes nothing if the stack has neither.
  void write_owner(StackId stack) {
    const std::string_view tag = labels_.tag(stack);
    const std::string_view thread = labels_.thread(stack);
    if (tag.empty() && thread.empty()) return;
    out_ << "    of ";
    if (!tag.empty()) out_ << "tag " << PrintableText(tag);
    if (!tag.empty() && !thread.empty()) out_ << ", ";
    if (!thread.empty()) out_ << "thread " << PrintableText(thread);
    out_ << "\n";
  }

 private:
  void write_tags() {
    const Result<ArenaArray<TagSummary>> sums = by_tag(snapshot_);
    if (!sums.ok()) return fail();
    out_ << "\nLive memory by tag, most first\n";
    for (const TagSummary& sum : *sums) {
      if (sum.own.total.allocations == 0 && sum.overhead_bytes == 0) continue;
      write_line(sum.own, path_of(sum.tag));
      if (sum.overhead_bytes > 0) {
        out_ << "    and " << human_bytes(sum.overhead_bytes)
             << " that its allocator holds beyond that\n";
      }
    }
  }

  /// Writes a line for each pair of threads if one freed blocks that the other allocated.
  void write_ownership() {
    if (!tells_ownership(snapshot_)) return;
    const Result<OwnershipMatrix> matrix = ownership_matrix(snapshot_);
    if (!matrix.ok()) return fail();
    out_ << "\nMemory given back by another thread than had allocated it, most first\n";
    std::size_t left = kMaxPairs;
    for (const OwnershipRow& row : matrix->threads) {
      if (!row.changes_hands() || left-- == 0) continue;
      out_ << "  " << human_bytes(row.bytes) << " in " << with_commas(row.blocks)
           << (row.blocks == 1 ? " block" : " blocks") << "   from ";
      write_thread(row.allocating);
      out_ << " to ";
      write_thread(row.freeing);
      out_ << "\n";
    }
    if (left == kMaxPairs) out_ << "  none\n";
    if (!matrix->complete) out_ << "  and some that the system had no memory to count\n";
  }

  void write_thread(std::uint32_t place) {
    if (place == OwnershipRow::kNotKnown) {
      out_ << "(not known)";
    } else {
      out_ << PrintableText(thread_label(snapshot_.threads[place]));
    }
  }

  void write_threads() {
    ArenaArray<const ThreadSummary*> order;
    for (const ThreadSummary& thread : snapshot_.threads) {
      if (thread.holding && !order.push_back(&thread)) return fail();
    }
    std::sort(order.begin(), order.end(), [](const ThreadSummary* a, const ThreadSummary* b) {
      return a->holding->live_bytes != b->holding->live_bytes
                 ? a->holding->live_bytes > b->holding->live_bytes
                 : a->number < b->number;
    });
    if (!order.empty()) out_ << "\nLive memory by thread that allocated it, most first\n";
    for (const ThreadSummary* thread : order) {
      const ThreadSummary::Holding& holding = *thread->holding;
      write_line({thread->total, holding.live_allocations, holding.live_bytes},
                 thread_label(*thread));
    }
  }

  void write_line(const OwnedMemory& sum, std::string_view owner) {
    out_ << "  " << human_bytes(sum.live_bytes) << " ("
         << percent(sum.live_bytes, snapshot_.totals.live_bytes) << ") in "
         << with_commas(sum.live_allocations) << (sum.live_allocations == 1 ? " block" : " blocks")
         << "; in all " << with_commas(sum.total.allocations) << " of "
         << human_bytes(sum.total.allocated_bytes) << ", "
         << with_commas(sum.total.temporary_allocations) << " temporary   " << PrintableText(owner)
         << "\n";
  }

  static constexpr std::size_t kMaxPairs = 20;

  void fail() { out_.fail("text: the system has no memory for tags and threads"); }

  const Snapshot& snapshot_;
  OwnerLabels labels_;
  DumpWriter& out_;
};

}  // namespace alloctap
