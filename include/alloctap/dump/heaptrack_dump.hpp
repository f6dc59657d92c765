/// heaptrack's data file: text, format 3, for heaptrack_gui and heaptrack_print from 1.4 on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/dump/account_text.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/heaptrack_events.hpp"
#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/dump/heaptrack_traces.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// The totals of a snapshot, as events that add up to them: allocations, temporary ones and leaks
/// of every stack are those of the report, to the block and byte. All that was freed comes first
/// and what is live last, so heaptrack's peak is what is live in the end (or the largest block):
/// the peak that was cannot be had from totals, nor the sizes of single blocks, nor their times.
///
/// The format has no other way to count than events: the file has two lines of about five bytes for
/// each allocation that was freed, and one for each live block. heaptrack reads it gzipped too, as
/// `.gz`. Format: heaptrack 1.4, src/analyze/accumulatedtracedata.cpp.
struct HeaptrackDump {
  /// Only what is live is written; the file then does not grow with the time that the program ran.
  bool only_live = false;
  /// A file that would need more fails instead. heaptrack_print reads some ten millions a second.
  std::uint64_t most_events = 1'000'000'000;

  void write(const Report& report, DumpWriter& out) const {
    if (events_of(report.snapshot) > static_cast<long double>(most_events)) {
      return out.fail(
          "heaptrack: the file would have more than HeaptrackDump::most_events lines; "
          "HeaptrackDump{.only_live = true} writes what is live alone");
    }
    HeaptrackLines lines(out);
    write_header(report, lines);
    HeaptrackTraces traces(report, lines);
    if (!traces.write()) return out.fail("heaptrack: the system has no memory for stacks");
    write_times(report.snapshot, lines);
    HeaptrackEvents events(lines);
    if (!only_live) write_freed(report.snapshot, traces, events);
    write_live(report.snapshot, traces, events);
  }

 private:
  [[nodiscard]] long double events_of(const Snapshot& snapshot) const noexcept {
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

  /// When the resident memory was how large, and so how long the program ran. In milliseconds and
  /// pages.
  static void write_times(const Snapshot& snapshot, HeaptrackLines& lines) {
    constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
    for (const TimelinePoint& point : snapshot.timeline) {
      const std::int64_t age =
          std::max<std::int64_t>(0, point.time_ns - snapshot.timeline[0].time_ns);
      lines.line('c', static_cast<std::uint64_t>(age / kNanosecondsPerMillisecond));
      lines.line('R', point.resident_bytes / os::page_size());
    }
  }

  /// Numbers of samples are estimates, and need not go together.
  static std::uint64_t difference(std::uint64_t whole, std::uint64_t part) noexcept {
    return whole - std::min(whole, part);
  }

  static void write_freed(const Snapshot& snapshot, const HeaptrackTraces& traces,
                          HeaptrackEvents& events) {
    for (std::size_t i = 0; i < snapshot.stacks.size(); ++i) {
      const StackSummary& stack = snapshot.stacks[i];
      events.freed(traces.trace(i),
                   {.blocks = difference(stack.total.allocations, stack.live_allocations),
                    .bytes = difference(stack.total.allocated_bytes, stack.live_bytes)},
                   stack.total.temporary_allocations);
    }
  }

  static void write_live(const Snapshot& snapshot, const HeaptrackTraces& traces,
                         HeaptrackEvents& events) {
    for (std::size_t i = 0; i < snapshot.stacks.size(); ++i) {
      const StackSummary& stack = snapshot.stacks[i];
      events.live(traces.trace(i), {.blocks = stack.live_allocations, .bytes = stack.live_bytes});
    }
  }
};

static_assert(DumpPolicy<HeaptrackDump>);

}  // namespace alloctap
