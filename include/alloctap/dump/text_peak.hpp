/// Peak memory in the text report of a program without live memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/dump/text_frames.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

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

}  // namespace alloctap
