/// Game frames and budgets in the text report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/printable_text.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/dump/text_frames.hpp"
#include "alloctap/dump/text_owners.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/size_histogram.hpp"

namespace alloctap {

/// Writer of each measure's median (rounded up to the bound of a histogram class), worst game frame
/// and that frame's first stacks, and of each budget's state. Writes nothing without game frames
/// and budgets. All arguments must outlive this object.
class TextGameFrames {
 public:
  static constexpr std::size_t kShownStacks = 3;

  /// Calls `visit(StackId)` for each stack that is shown.
  template <class Visit>
  static void for_each_shown(const FrameHistory& history, Visit&& visit) {
    for (const ArenaArray<WorstFrame>& list : history.worst) {
      if (list.empty()) continue;
      const WorstFrame& worst = list[0];
      for (std::size_t i = 0; i < shown_stacks(worst); ++i) visit(worst.stacks[i].stack);
      if (worst.slowest.duration_ns > 0) visit(worst.slowest.stack);
    }
    if (!history.offences.empty()) visit(history.offences.end()[-1].stack);
  }

  TextGameFrames(const Report& report, const FrameList& list, TextOwners& owners,
                 DumpWriter& out) noexcept
      : report_(report),
        history_(report.snapshot.frames),
        list_(list),
        owners_(owners),
        out_(out) {}

  void write() {
    if (history_.frames > 0) write_frames();
    if (!history_.budgets.empty()) write_budgets();
  }

 private:
  static std::size_t shown_stacks(const WorstFrame& frame) noexcept {
    return frame.stack_count < kShownStacks ? frame.stack_count : kShownStacks;
  }

  void write_frames() {
    out_ << "\nFrames of the game: " << with_commas(history_.frames);
    if (history_.refused_marks > 0) {
      out_ << "; " << counted(history_.refused_marks, "mark") << " met another and did nothing";
    }
    if (history_.marking_thread_changes > 0) {
      out_ << "; the marking thread changed " << counted(history_.marking_thread_changes, "time");
    }
    out_ << "\n";
    for (const FrameMeasure measure : kAllFrameMeasures) write_measure(measure);
    for (const FrameMeasure measure : kAllFrameMeasures) {
      const ArenaArray<WorstFrame>& list = worst_of(measure);
      if (!list.empty()) write_worst(measure, list[0]);
    }
  }

  [[nodiscard]] const ArenaArray<WorstFrame>& worst_of(FrameMeasure measure) const noexcept {
    return history_.worst[static_cast<std::size_t>(measure)];
  }

  void write_measure(FrameMeasure measure) {
    const ArenaArray<WorstFrame>& list = worst_of(measure);
    if (list.empty()) return;
    const FrameHistogram& histogram = history_.histograms[static_cast<std::size_t>(measure)];
    std::uint64_t frames = 0;
    std::size_t middle = 0;
    while (middle + 1 < histogram.size() && (frames += histogram[middle]) * 2 < history_.frames) {
      ++middle;
    }
    out_ << "  " << title_of(measure) << "half of the frames at most "
         << amount(measure, greatest_size(middle)) << ", the worst "
         << amount(measure, amount_of(list[0], measure)) << " (frame " << list[0].number << ")\n";
  }

  static std::string_view title_of(FrameMeasure measure) noexcept {
    constexpr std::array<std::string_view, kFrameMeasures> kTitles{
        "allocations   ", "bytes         ", "in allocator  ", "duration      "};
    return kTitles[static_cast<std::size_t>(measure)];
  }

  static std::uint64_t amount_of(const WorstFrame& frame, FrameMeasure measure) noexcept {
    return measured(frame.counts, frame.duration_ns, measure);
  }

  static ShortText milliseconds(std::uint64_t ns) noexcept {
    ShortText text;
    text.append(ns / 1'000'000);
    text.append('.');
    const std::uint64_t rest = ns / 1000 % 1000;
    text.append(rest / 100);
    text.append(rest / 10 % 10);
    text.append(rest % 10);
    text.append(" ms");
    return text;
  }

  static ShortText amount(FrameMeasure measure, std::uint64_t number) noexcept {
    if (measure == FrameMeasure::kAllocations) return with_commas(number);
    return measure == FrameMeasure::kBytes ? human_bytes(number) : milliseconds(number);
  }

  void write_worst(FrameMeasure measure, const WorstFrame& frame) {
    out_ << "\nMost " << name_of(measure) << ": frame " << frame.number << ", "
         << milliseconds(static_cast<std::uint64_t>(frame.duration_ns)) << "; "
         << counted(frame.counts.allocations, "allocation") << " of "
         << human_bytes(frame.counts.allocated_bytes) << ", "
         << milliseconds(frame.counts.allocator_ns) << " in the allocator\n";
    if (frame.slowest.duration_ns > 0) write_slowest(frame.slowest);
    for (std::size_t i = 0; i < shown_stacks(frame); ++i) {
      const StackOfFrame& stack = frame.stacks[i];
      out_ << "  " << with_commas(stack.allocations) << " of " << human_bytes(stack.allocated_bytes)
           << ", " << milliseconds(stack.allocator_ns) << "\n";
      owners_.write_owner(stack.stack);
      write_text_frames(report_, stack.stack, list_, out_);
    }
  }

  void write_slowest(const SlowCall& call) {
    out_ << "  its slowest call of those that were timed: "
         << milliseconds(static_cast<std::uint64_t>(call.duration_ns)) << " to "
         << name_of(call.call) << " " << human_bytes(call.bytes) << ", cause "
         << name_of(cause_of(call));
    if (call.has_usage) {
      out_ << " (" << with_commas(call.page_faults) << " page fault" << plural(call.page_faults)
           << ", " << with_commas(call.waits) << " wait" << plural(call.waits) << ", preempted "
           << with_commas(call.preemptions) << " time" << plural(call.preemptions) << ")";
    }
    out_ << "\n";
    write_text_frames(report_, call.stack, list_, out_);
  }

  void write_budgets() {
    out_ << "\nBudgets\n";
    for (const BudgetSummary& budget : history_.budgets) {
      for (const BudgetKind kind : kAllBudgetKinds) {
        const LimitSummary& limit = budget.limits[static_cast<std::size_t>(kind)];
        if (limit.limit != kUnlimited) write_limit(owners_.path_of(budget.tag), kind, limit);
      }
    }
    if (history_.offences.empty()) return;
    const BudgetOffence& last = history_.offences.end()[-1];
    out_ << "\nLast over a budget: " << PrintableText(owners_.path_of(last.tag)) << ", "
         << with_commas(last.value) << " of " << with_commas(last.limit) << " "
         << name_of(last.kind) << ", in frame " << last.frame << "\n";
    write_text_frames(report_, last.stack, list_, out_);
  }

  void write_limit(std::string_view tag, BudgetKind kind, const LimitSummary& limit) {
    out_ << "  " << (limit.offences > 0 ? "over " : "kept ") << name_of(kind) << " "
         << with_commas(limit.limit) << ": at most " << with_commas(limit.most) << ", exceeded "
         << with_commas(limit.offences) << (limit.offences == 1 ? " time   " : " times   ")
         << PrintableText(tag) << "\n";
  }

  const Report& report_;
  const FrameHistory& history_;
  const FrameList& list_;
  TextOwners& owners_;
  DumpWriter& out_;
};

}  // namespace alloctap
