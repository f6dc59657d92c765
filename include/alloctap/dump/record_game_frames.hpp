/// The tables "game ..." of a recording: game frames and budgets.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "alloctap/dump/record_writer.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// Writer of a `FrameHistory`. Writes nothing if the tracker does not observe game frames. Names of
/// kinds and measures are those in schema alloctap.heap/1. Stacks and tags are ids; `kNoStackId`
/// means no stack. `SavedGameFrames` reads the tables. All arguments must outlive this object.
class RecordGameFrames {
 public:
  RecordGameFrames(RecordWriter& record, const FrameHistory& history) noexcept
      : record_(record), history_(history) {}

  void write() {
    if (!history_.known) return;
    record_.begin_table("game", {{kNumber, "frames"},
                                 {kNumber, "refused_marks"},
                                 {kNumber, "marking_thread_changes"},
                                 {kNumber, "lost_events"},
                                 {kNumber, "forgotten_offences"}});
    record_.row(history_.frames, history_.refused_marks, history_.marking_thread_changes,
                history_.lost_events, history_.forgotten_offences);
    record_.end_table();
    write_tags();
    write_frames();
    write_histograms();
    write_worst();
    write_stacks_of_worst();
    write_budgets();
    write_offences();
  }

 private:
  using enum RecordKind;

  /// The columns that hold a `FrameCounts`.
  static constexpr std::array<RecordColumn, 5> kCountColumns{{{kNumber, "allocations"},
                                                              {kNumber, "allocated_bytes"},
                                                              {kNumber, "deallocations"},
                                                              {kNumber, "freed_bytes"},
                                                              {kNumber, "allocator_ns"}}};

  void write_counts(const FrameCounts& counts) {
    write_values(counts.allocations, counts.allocated_bytes, counts.deallocations,
                 counts.freed_bytes, counts.allocator_ns);
  }

  template <class... Values>
  void write_values(const Values&... values) {
    (record_.value(values), ...);
  }

  /// Writes "game tags", in which each row of "game frames" has a range of rows.
  void write_tags() {
    record_.begin_table("game tags", {{kNumber, "tag"}}, kCountColumns,
                        {{kNumber, "held_bytes"}, {kNumber, "peak_bytes"}});
    for (const TagOfFrame& tag : history_.tags) {
      record_.row(tag.tag);
      write_counts(tag.counts);
      write_values(tag.held_bytes, tag.peak_bytes);
    }
    record_.end_table();
  }

  void write_frames() {
    record_.begin_table("game frames",
                        {{kNumber, "number"}, {kSigned, "begin_ns"}, {kSigned, "duration_ns"}},
                        kCountColumns,
                        {{kNumber, "held_bytes"},
                         {kNumber, "peak_bytes"},
                         {kNumber, "first_tag"},
                         {kNumber, "tags"}});
    for (const FrameSummary& frame : history_.last) {
      record_.row(frame.number, frame.begin_ns, frame.duration_ns);
      write_counts(frame.counts);
      write_values(frame.held_bytes, frame.peak_bytes, frame.first_tag, frame.tag_count);
    }
    record_.end_table();
  }

  void write_histograms() {
    record_.begin_table("game histograms",
                        {{kText, "measure"}, {kNumber, "class"}, {kNumber, "frames"}});
    for (const FrameMeasure measure : kAllFrameMeasures) {
      const FrameHistogram& histogram = history_.histograms[static_cast<std::size_t>(measure)];
      for (std::size_t i = 0; i < histogram.size(); ++i) {
        if (histogram[i] > 0) record_.row(name_of(measure), i, histogram[i]);
      }
    }
    record_.end_table();
  }

  template <class Visit>
  void for_each_worst(Visit&& visit) const {
    for (const FrameMeasure measure : kAllFrameMeasures) {
      const auto& list = history_.worst[static_cast<std::size_t>(measure)];
      for (std::size_t i = 0; i < list.size(); ++i) visit(measure, i, list[i]);
    }
  }

  /// Writes each measure's frames, worst first. `slowest_call.duration_ns` is 0 without any call.
  void write_worst() {
    record_.begin_table(
        "game worst",
        {{kText, "measure"}, {kNumber, "number"}, {kSigned, "begin_ns"}, {kSigned, "duration_ns"}},
        kCountColumns,
        {{kNumber, "other_stacks.allocations"},
         {kNumber, "other_stacks.allocated_bytes"},
         {kNumber, "other_stacks.allocator_ns"},
         {kSigned, "slowest_call.duration_ns"},
         {kNumber, "slowest_call.bytes"},
         {kNumber, "slowest_call.stack"},
         {kNumber, "slowest_call.tag"},
         {kText, "slowest_call.call"},
         {kNumber, "slowest_call.has_usage"},
         {kNumber, "slowest_call.page_faults"},
         {kNumber, "slowest_call.waits"},
         {kNumber, "slowest_call.preemptions"}});
    for_each_worst([this](FrameMeasure measure, std::size_t, const WorstFrame& frame) {
      record_.row(name_of(measure), frame.number, frame.begin_ns, frame.duration_ns);
      write_counts(frame.counts);
      write_amounts(frame.other_stacks);
      const SlowCall& call = frame.slowest;
      write_values(call.duration_ns, call.bytes, call.stack, call.tag, name_of(call.call),
                   call.has_usage, call.page_faults, call.waits, call.preemptions);
    });
    record_.end_table();
  }

  void write_amounts(const StackOfFrame& stack) {
    write_values(stack.allocations, stack.allocated_bytes, stack.allocator_ns);
  }

  /// Writes the stacks of the worst frames; `place` is a frame's index in the measure's list.
  void write_stacks_of_worst() {
    record_.begin_table("game stacks", {{kText, "measure"},
                                        {kNumber, "place"},
                                        {kNumber, "stack"},
                                        {kNumber, "allocations"},
                                        {kNumber, "allocated_bytes"},
                                        {kNumber, "allocator_ns"}});
    for_each_worst([this](FrameMeasure measure, std::size_t place, const WorstFrame& frame) {
      for (const StackOfFrame& stack : std::span(frame.stacks).first(frame.stack_count)) {
        record_.row(name_of(measure), place, stack.stack);
        write_amounts(stack);
      }
    });
    record_.end_table();
  }

  /// Writes one row for each limit of each budget.
  void write_budgets() {
    record_.begin_table("game budgets", {{kNumber, "tag"},
                                         {kText, "kind"},
                                         {kNumber, "limit"},
                                         {kNumber, "value"},
                                         {kNumber, "most"},
                                         {kNumber, "offences"}});
    for (const BudgetSummary& budget : history_.budgets) {
      for (const BudgetKind kind : kAllBudgetKinds) {
        const LimitSummary& limit = budget.limits[static_cast<std::size_t>(kind)];
        record_.row(budget.tag, name_of(kind), limit.limit, limit.value, limit.most,
                    limit.offences);
      }
    }
    record_.end_table();
  }

  void write_offences() {
    record_.begin_table("game offences", {{kNumber, "tag"},
                                          {kText, "kind"},
                                          {kNumber, "limit"},
                                          {kNumber, "value"},
                                          {kNumber, "stack"},
                                          {kNumber, "frame"},
                                          {kSigned, "time_ns"}});
    for (const BudgetOffence& offence : history_.offences) {
      record_.row(offence.tag, name_of(offence.kind), offence.limit, offence.value, offence.stack,
                  offence.frame, offence.time_ns);
    }
    record_.end_table();
  }

  RecordWriter& record_;
  const FrameHistory& history_;
};

}  // namespace alloctap
