/// Frames, peak, owners and pools in the text report, and data that its sections share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/dumps.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/ownership_matrix.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

inline void write_text_function(const SourceFrame& frame, DumpWriter& out) {
  out << "    " << PrintableText(frame.function.empty() ? "??" : frame.function);
  if (frame.file.empty()) return;
  out << "   " << PrintableText(frame.file);
  if (frame.line > 0) out << ':' << frame.line;
}

/// Writes " function file:line module+0xoffset". Functions inlined into that function precede it,
/// one on each line. The offset is the call's address in the module's file.
inline void write_text_frame(const FrameList& list, std::size_t index, DumpWriter& out) {
  const auto source = list.source(index);
  for (std::size_t i = 0; i + 1 < source.size(); ++i) {
    write_text_function(source[i], out);
    out << "   (inlined)\n";
  }
  write_text_function(source.empty() ? SourceFrame() : source.back(), out);
  out << "   ";
  const auto [address, module] = list.place(index);
  if (module == nullptr) {
    out.hex(address) << "\n";
    return;
  }
  out << PrintableText(module->path.substr(module->path.rfind('/') + 1)) << '+';
  out.hex(address - module->bias) << (module->is_unloaded() ? " (unloaded)\n" : "\n");
}

/// Writes the frames of `stack`, leaf first, one for each line. `list` must contain the frames.
inline void write_text_frames(const Report& report, StackId stack, const FrameList& list,
                              DumpWriter& out) {
  const auto frames = report.snapshot.table->frames(stack);
  if (frames.empty()) {
    out << (stack == kStackNotTaken ? "    (no stack: size outside the range)\n"
                                    : "    (stack unknown)\n");
  }
  for (const std::uintptr_t frame : frames) {
    write_text_frame(list, list.index_of(stack, frame), out);
  }
}

/// The stacks that held memory at the peak, for a report without live memory. Otherwise the report
/// of a program that freed everything would show no stack. Control plane; uses arena memory.
class TextPeak {
 public:
  /// Selects at most `most_stacks` stacks to show, or no stack if memory is live.
  TextPeak(const Report& report, std::size_t most_stacks, DumpWriter& out)
      : report_(report), out_(out) {
    if (report.snapshot.totals.live_allocations > 0) return;
    for (const PeakStackSummary& stack : report.snapshot.peak.stacks) {
      if (!order_.push_back(&stack)) out.fail("text: the system has no memory for the peak");
    }
    std::sort(order_.begin(), order_.end(),
              [](const PeakStackSummary* a, const PeakStackSummary* b) {
                return a->live_bytes != b->live_bytes ? a->live_bytes > b->live_bytes
                                                      : a->stack < b->stack;
              });
    shown_ = std::min(most_stacks, order_.size());
  }

  /// Calls `visit(StackId)` for each stack that is shown.
  template <class Visit>
  void for_each_shown(Visit&& visit) const {
    for (std::size_t i = 0; i < shown_; ++i) visit(order_[i]->stack);
  }

  /// Writes the stacks, or a hint to use HtmlDump if the peak has no stacks. `write_owner(StackId)`
  /// writes the owner of a stack.
  template <class WriteOwner>
  void write(const FrameList& frames, WriteOwner&& write_owner) const {
    const Totals& totals = report_.snapshot.totals;
    if (totals.live_allocations > 0 || totals.allocations == 0) return;
    if (order_.empty()) {
      out_ << "\nNothing is live. A page shows which stacks allocated: HtmlDump, alloctap-run -o "
              "heap.html\n";
    }
    if (shown_ == 0) return;
    out_ << "\nNothing is live. Stacks that held memory at the peak, most first";
    if (shown_ < order_.size())
      out_ << " (" << shown_ << " of " << with_commas(order_.size()) << ")";
    out_ << "\n";
    for (std::size_t i = 0; i < shown_; ++i) {
      write_sums(i);
      write_owner(order_[i]->stack);
      write_text_frames(report_, order_[i]->stack, frames, out_);
    }
  }

 private:
  void write_sums(std::size_t i) const {
    const PeakStackSummary& held = *order_[i];
    out_ << "\n#" << i + 1 << "  " << human_bytes(held.live_bytes) << " ("
         << percent(held.live_bytes, report_.snapshot.peak.live_bytes) << ") in "
         << counted(held.live_allocations, "block");
    if (const StackSummary* sums = find(held.stack)) {
      out_ << "; in all " << with_commas(sums->total.allocations) << " of "
           << human_bytes(sums->total.allocated_bytes) << ", "
           << with_commas(sums->total.temporary_allocations) << " temporary";
    }
    out_ << "\n";
  }

  /// Returns nullptr if the snapshot has no summary of `stack`.
  [[nodiscard]] const StackSummary* find(StackId stack) const noexcept {
    const auto& stacks = report_.snapshot.stacks;
    const StackSummary* found = std::lower_bound(
        stacks.begin(), stacks.end(), stack,
        [](const StackSummary& sums, StackId sought) { return sums.stack < sought; });
    return found != stacks.end() && found->stack == stack ? found : nullptr;
  }

  const Report& report_;
  DumpWriter& out_;
  ArenaArray<const PeakStackSummary*> order_;
  std::size_t shown_ = 0;
};

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
    std::size_t pairs = 0;
    for (const OwnershipRow& row : matrix->threads) {
      if (!row.changes_hands() || ++pairs > kMaxPairs) continue;
      out_ << "  " << human_bytes(row.bytes) << " in " << with_commas(row.blocks)
           << (row.blocks == 1 ? " block" : " blocks") << "   from ";
      write_thread(row.allocating);
      out_ << " to ";
      write_thread(row.freeing);
      out_ << "\n";
    }
    if (pairs == 0) out_ << "  none\n";
    if (pairs > kMaxPairs) out_ << "  and " << with_commas(pairs - kMaxPairs) << " more pairs\n";
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

/// The inputs of a text report's sections, apart from the report's options.
struct TextParts {
  const Report& report;
  /// Sorted by live bytes, most first.
  const ArenaArray<const StackSummary*>& stacks;
  const FrameList& frames;
  const TextPeak& peak;
  /// nullptr, as is `write_owner`, if stacks have no owners. `TextOwners` is then not compiled.
  TextOwners* owners = nullptr;
  void (*write_owner)(TextOwners& owners, StackId stack) = nullptr;
  /// nullptr until the misuses are sorted.
  const SortedMisuses* misuses = nullptr;
  DumpWriter& out;
};

/// Sorts misuses into suppressed and reported ones. Returns false if out of memory.
[[nodiscard]] inline bool sort_misuses(const TextDump& dump, const TextParts& parts,
                                       SortedMisuses& misuses) {
  const Suppressions none;
  const Suppressions* const rules = dump.suppressions.rules();
  Result<SortedMisuses> sorted =
      sort_misuses(parts.report.snapshot, rules == nullptr ? none : *rules, parts.frames);
  if (sorted.ok()) misuses = *std::move(sorted);
  return sorted.ok();
}

/// Writer of a line for each pool, most live bytes first, with the stacks that hold most of the
/// pool's bytes. Writes nothing without pools. The snapshot must outlive this object.
class TextPools {
 public:
  explicit TextPools(const PoolsSummary& pools) noexcept : pools_(pools) {
    for (const PoolSummary& pool : pools.pools) complete_ = order_.push_back(&pool) && complete_;
    std::sort(order_.begin(), order_.end(), [](const PoolSummary* a, const PoolSummary* b) {
      if (a->live_bytes != b->live_bytes) return a->live_bytes > b->live_bytes;
      if (a->allocated_bytes != b->allocated_bytes) return a->allocated_bytes > b->allocated_bytes;
      return a < b;
    });
  }

  /// Calls `visit(StackId)` for each stack that is shown.
  template <class Visit>
  void for_each_shown(Visit&& visit) const {
    for (std::size_t i = 0; i < shown(); ++i) {
      for_each_stack(*order_[i], [&](const PoolStackSummary& held) { visit(held.stack); });
    }
  }

  /// Writes the list. `write_owner(StackId)` writes a line with a stack's tag and thread, if known.
  template <class WriteOwner>
  void write(const Report& report, const FrameList& frames, WriteOwner&& write_owner,
             DumpWriter& out) const {
    if (!complete_) return out.fail("text: the system has no memory for pools");
    if (order_.empty()) return;
    out << "\nPools, most live bytes first; their blocks lie in memory that is counted elsewhere\n";
    for (std::size_t i = 0; i < shown(); ++i) {
      write_pool(*order_[i], out);
      for_each_stack(*order_[i], [&](const PoolStackSummary& held) {
        out << "    " << human_bytes(held.live_bytes) << " in "
            << counted(held.live_allocations, "block") << "; in all "
            << with_commas(held.allocations) << " of " << human_bytes(held.allocated_bytes) << "\n";
        write_owner(held.stack);
        write_text_frames(report, held.stack, frames, out);
      });
    }
    if (shown() < order_.size()) {
      out << "  and " << with_commas(order_.size() - shown()) << " more\n";
    }
    write_faults(out);
  }

 private:
  static constexpr std::size_t kMaxPools = 20;
  static constexpr std::size_t kMaxStacks = 3;

  [[nodiscard]] std::size_t shown() const noexcept { return std::min(kMaxPools, order_.size()); }

  /// Visits the pool's stacks with most live bytes, in descending order.
  template <class Visit>
  void for_each_stack(const PoolSummary& pool, Visit&& visit) const {
    const PoolStackSummary* last = nullptr;
    for (std::size_t i = 0; i < kMaxStacks; ++i) {
      const PoolStackSummary* most = nullptr;
      for (const PoolStackSummary& held : pools_.stacks_of(pool)) {
        if (held.live_allocations == 0 || (last != nullptr && !holds_more(*last, held))) continue;
        if (most == nullptr || holds_more(held, *most)) most = &held;
      }
      if (most == nullptr) return;
      visit(*most);
      last = most;
    }
  }

  static bool holds_more(const PoolStackSummary& a, const PoolStackSummary& b) noexcept {
    return a.live_bytes != b.live_bytes ? a.live_bytes > b.live_bytes : a.stack < b.stack;
  }

  static void write_pool(const PoolSummary& pool, DumpWriter& out) {
    out << "  " << PrintableText(pool.name.empty() ? "(no name)" : pool.name)
        << (pool.destroyed ? " (destroyed)" : "") << ": " << human_bytes(pool.live_bytes) << " in "
        << counted(pool.live_allocations, "block") << ", peak " << human_bytes(pool.peak_live_bytes)
        << "; in all " << with_commas(pool.allocations) << " of "
        << human_bytes(pool.allocated_bytes) << ", " << with_commas(pool.deallocations())
        << " freed";
    if (pool.overhead_bytes > 0) out << "; overhead " << human_bytes(pool.overhead_bytes);
    out << "\n";
  }

  void write_faults(DumpWriter& out) const {
    const auto write_fault = [&out](std::uint64_t number, std::string_view what) {
      if (number > 0) out << "  " << what << ": " << with_commas(number) << "\n";
    };
    write_fault(pools_.unknown_frees.value_or(0), "frees of blocks that no pool has");
    write_fault(pools_.wrong_pool_frees, "frees of blocks that another pool has, and keeps");
    write_fault(pools_.announced_twice, "blocks announced while they were live");
    write_fault(pools_.unknown_pools, "calls for pools that were destroyed, or never created");
    write_fault(pools_.dropped, "events lost because the system had no memory");
    write_fault(pools_.refused_pools, "pools left out because there were too many");
  }

  const PoolsSummary& pools_;
  ArenaArray<const PoolSummary*> order_;
  bool complete_ = true;
};

}  // namespace alloctap
