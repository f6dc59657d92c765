/// Definitions for dump/heaptrack_dump.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/data_quality_text.hpp"
#include "alloctap/dump/export/heaptrack_synthesis.hpp"
#include "alloctap/dump/export/heaptrack_trace.hpp"
#include "alloctap/dump/heaptrack_dump.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Implements `HeaptrackDump::write`. The base class is a copy of the options.
class HeaptrackDumpWriter : public HeaptrackDump {
 public:
  explicit HeaptrackDumpWriter(const HeaptrackDump& options) noexcept : HeaptrackDump(options) {}

  void write_report(const Report& report, DumpWriter& out) const {
    if (events_of(report.snapshot) > static_cast<long double>(most_events)) {
      return out.fail(
          "heaptrack: the file would have more than HeaptrackDump::most_events lines; "
          "HeaptrackDump{.only_live = true} writes what is live alone");
    }
    HeaptrackLines lines(out);
    write_header(report, lines);
    HeaptrackTraces traces(report, lines);
    if (!traces.write()) return out.fail("heaptrack: the system has no memory for stacks");
    if (shows_events(report.snapshot)) {
      if (!HeaptrackTimeline(report.snapshot, traces, lines).write()) {
        out.fail("heaptrack: the system has no memory for events");
      }
      return;
    }
    const HeaptrackPlan plan(report.snapshot);
    HeaptrackEvents events(lines);
    if (!plan.complete() || !write_past(report.snapshot, traces, plan, lines, events)) {
      return out.fail("heaptrack: the system has no memory for the peak");
    }
    write_end(report.snapshot, traces, plan, events);
  }

 private:
  [[nodiscard]] bool shows_events(const Snapshot& snapshot) const noexcept {
    return !only_live && snapshot.events.complete();
  }

  [[nodiscard]] long double events_of(const Snapshot& snapshot) const noexcept {
    if (shows_events(snapshot)) return static_cast<long double>(snapshot.events.count);
    long double events = 0;
    for (const StackSummary& stack : snapshot.stacks) {
      events += static_cast<long double>(stack.live_allocations);
      const auto allocations = static_cast<long double>(stack.total.allocations);
      if (!only_live) events += 2 * allocations;
    }
    return events;
  }

  static void write_header(const Report& report, HeaptrackLines& lines) {
    constexpr std::uint64_t kToolVersion = 0x10400;
    constexpr std::uint64_t kFormatVersion = 3;
    constexpr std::uint64_t kPagesAreUnknown = 0;
    lines.line('v', kToolVersion, kFormatVersion);
    lines.out() << "# ";
    write_account(report, "\n# ", lines.out());
    lines.out() << "\nX ";
    write_command(report.program, lines.out());
    lines.out() << '\n';
    lines.line('I', std::uint64_t{os::page_size()}, kPagesAreUnknown);
  }

  /// Writes the freed blocks and the peak. Returns false if out of memory.
  bool write_past(const Snapshot& snapshot, const HeaptrackTraces& traces,
                  const HeaptrackPlan& plan, HeaptrackLines& lines, HeaptrackEvents& events) const {
    constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();
    const bool knows_peak = snapshot.peak.time_ns != 0;
    HeaptrackTimes times(snapshot, lines, snapshot.peak.time_ns);
    times.write_points(knows_peak ? snapshot.peak.time_ns : kAlways);
    if (knows_peak && !snapshot.timeline.empty()) times.write_time(snapshot.peak.time_ns);
    bool complete = true;
    if (!only_live) {
      for (std::size_t i = 0; i < snapshot.stacks.size(); ++i) {
        events.freed(traces.trace(i), plan.share(i).held.rest, plan.share(i).temporary);
      }
      complete = write_peak(snapshot, traces, plan, events);
    }
    times.write_points();
    return complete;
  }

  static bool write_peak(const Snapshot& snapshot, const HeaptrackTraces& traces,
                         const HeaptrackPlan& plan, HeaptrackEvents& events) {
    bool complete = true;
    for (std::size_t i = 0; i < snapshot.stacks.size(); ++i) {
      const HeaptrackShare& share = plan.share(i);
      events.live(traces.trace(i), share.held.both);
      if (share.temporary_at_peak) continue;
      complete = events.held(traces.trace(i), share.held.peak_only) && complete;
    }
    if (const auto last = plan.temporary_at_peak()) {
      complete = events.held_for_a_moment(traces.trace(*last), plan.share(*last).held.peak_only) &&
                 complete;
    }
    events.free_held();
    return complete;
  }

  void write_end(const Snapshot& snapshot, const HeaptrackTraces& traces, const HeaptrackPlan& plan,
                 HeaptrackEvents& events) const {
    for (std::size_t i = 0; i < snapshot.stacks.size(); ++i) {
      const LifetimeBreakdown& held = plan.share(i).held;
      if (only_live) events.live(traces.trace(i), held.both);
      events.live(traces.trace(i), held.end_only);
    }
  }
};

ALLOCTAP_INLINE void HeaptrackDump::write(const Report& report, DumpWriter& out) const {
  HeaptrackDumpWriter(*this).write_report(report, out);
}

static_assert(DumpPolicy<HeaptrackDump>);

}  // namespace alloctap
