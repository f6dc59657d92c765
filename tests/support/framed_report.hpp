/// A small report with frames of a game and budgets, for tests of dumps.
#pragma once

#include "tests/support/tagged_report.hpp"

namespace alloctap::testing {

/// Two frames of 10 ms after the first point of the timeline: in the first, Game/Physics allocated,
/// and its budget was exceeded; in the second tags without a place of their own did.
class FramedReport : public TaggedReport {
 public:
  static constexpr std::int64_t kFrame = 10'000'000;

  FramedReport() {
    FrameHistory& history = snapshot.frames;
    history.known = true;
    history.frames = 3;
    history.refused_marks = 4;
    history.marking_thread_changes = 5;
    history.lost_events = 6;
    const std::int64_t begin = snapshot.timeline[0].time_ns + kFrame;
    const FrameCounts busy{.allocations = 100,
                           .allocated_bytes = 5000,
                           .deallocations = 20,
                           .freed_bytes = 1000,
                           .allocator_ns = 70'000};
    const FrameCounts calm{.allocations = 1, .allocated_bytes = 8};
    keep(history.last, FrameSummary{.number = 2,
                                    .begin_ns = begin,
                                    .duration_ns = kFrame,
                                    .counts = busy,
                                    .held_bytes = 9000,
                                    .peak_bytes = 9500,
                                    .first_tag = 1,
                                    .tag_count = 2});
    keep(history.last, FrameSummary{.number = 3,
                                    .begin_ns = begin + kFrame,
                                    .duration_ns = kFrame,
                                    .counts = calm,
                                    .held_bytes = 9008,
                                    .peak_bytes = 9008,
                                    .first_tag = 0,
                                    .tag_count = 1});
    keep(history.tags, TagOfFrame{.tag = kOtherTags, .counts = calm});
    keep(history.tags,
         TagOfFrame{.tag = physics, .counts = busy, .held_bytes = 4000, .peak_bytes = 4500});
    keep(history.tags, TagOfFrame{.tag = kNoTag, .held_bytes = 5000, .peak_bytes = 5000});
    for (FrameHistogram& histogram : history.histograms) histogram[1] = histogram[7] = 1;
    add_worst(busy, begin);
    add_budgets();
  }

 private:
  template <class T>
  static void keep(ArenaArray<T>& list, const T& value) {
    static_cast<void>(list.push_back(value));
  }

  void add_worst(const FrameCounts& counts, std::int64_t begin) {
    WorstFrame worst{.number = 2, .begin_ns = begin, .duration_ns = kFrame, .counts = counts};
    const StackId stack = intern({kLoad + 0x11, kMain + 1}, {.tag = physics});
    worst.stacks[0] = {
        .stack = stack, .allocations = 90, .allocated_bytes = 4900, .allocator_ns = 60'000};
    worst.stack_count = 1;
    worst.other_stacks = {.allocations = 10, .allocated_bytes = 100, .allocator_ns = 10'000};
    keep(snapshot.frames.worst[0], worst);
    worst.slowest = {.duration_ns = 50'000,
                     .bytes = 3000,
                     .stack = stack,
                     .tag = physics,
                     .call = AllocatorCall::kReallocate};
    keep(snapshot.frames.worst[1], worst);
    worst.slowest.has_usage = true;
    worst.slowest.page_faults = 3;
    worst.slowest.waits = 1;
    worst.slowest.preemptions = 2;
    keep(snapshot.frames.worst[3], worst);
  }

  void add_budgets() {
    BudgetSummary budget{.tag = physics};
    budget.limits[0] = {.limit = 4000, .value = 4100, .most = 4500, .offences = 1};
    keep(snapshot.frames.budgets, budget);
    keep(snapshot.frames.offences, BudgetOffence{.tag = physics,
                                                 .kind = BudgetKind::kHeldBytes,
                                                 .limit = 4000,
                                                 .value = 4100,
                                                 .stack = intern({0x5011}, {.tag = physics}),
                                                 .frame = 2,
                                                 .time_ns = 77});
    snapshot.frames.forgotten_offences = 8;
  }
};

}  // namespace alloctap::testing
