/// Definitions for dump/massif_dump.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/call_paths.hpp"
#include "alloctap/dump/export/data_quality_text.hpp"
#include "alloctap/dump/export/massif_tree.hpp"
#include "alloctap/dump/massif_dump.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Implements `MassifDump::write`.
class MassifWriting {
 public:
  MassifWriting(const MassifDump& options, const Report& report, DumpWriter& out) noexcept
      : options_(options), snapshot_(report.snapshot), report_(report), out_(out), paths_(report) {}

  void write() {
    MassifTree peak = tree();
    MassifTree end = tree();
    if (!paths_.complete() || !add_all(peak, snapshot_.peak.stacks) ||
        !add_all(end, snapshot_.stacks)) {
      return fail();
    }
    write_header();
    write_past(peak);
    write_snapshot(snapshot_.time_ns, end.total(), "detailed");
    if (!end.write(out_)) fail();
  }

 private:
  [[nodiscard]] MassifTree tree() noexcept {
    return MassifTree(paths_, options_.most_calls, options_.threshold_percent);
  }

  void fail() { out_.fail("massif: the system has no memory for stacks"); }

  template <class Summaries>
  static bool add_all(MassifTree& tree, const Summaries& stacks) noexcept {
    return std::all_of(stacks.begin(), stacks.end(),
                       [&](const auto& stack) { return tree.add(stack.stack, stack.live_bytes); });
  }

  [[nodiscard]] bool knows_peak() const noexcept { return snapshot_.peak.time_ns != 0; }

  void write_header() {
    out_ << "desc: ";
    write_account(report_, "; ", out_);
    out_ << "\ncmd: ";
    write_command(report_.program, out_);
    out_ << "\ntime_unit: ms\n";
  }

  void write_past(MassifTree& peak) {
    bool peak_is_due = knows_peak();
    for (const TimelinePoint& point : snapshot_.timeline) {
      if (peak_is_due && point.time_ns >= snapshot_.peak.time_ns) {
        write_peak(peak);
        peak_is_due = false;
      }
      write_snapshot(point.time_ns, point.live_bytes, "empty");
    }
    if (peak_is_due) write_peak(peak);
  }

  void write_peak(MassifTree& peak) {
    write_snapshot(snapshot_.peak.time_ns, peak.total(), "peak");
    if (!peak.write(out_)) fail();
  }

  void write_snapshot(std::int64_t time_ns, std::uint64_t bytes, std::string_view tree) {
    constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
    if (snapshots_ == 0) start_ns_ = time_ns;
    // Readers need the last snapshot to have the latest time, but clocks can be set back.
    latest_ns_ = std::max(latest_ns_, time_ns - start_ns_);
    out_ << "#-----------\nsnapshot=" << snapshots_++ << "\n#-----------\n"
         << "time=" << latest_ns_ / kNanosecondsPerMillisecond << "\nmem_heap_B=" << bytes
         << "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=" << tree << '\n';
  }

  const MassifDump& options_;
  const Snapshot& snapshot_;
  const Report& report_;
  DumpWriter& out_;
  CallPaths paths_;
  std::uint64_t snapshots_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t latest_ns_ = 0;
};

ALLOCTAP_INLINE void MassifDump::write(const Report& report, DumpWriter& out) const {
  MassifWriting(*this, report, out).write();
}

static_assert(DumpPolicy<MassifDump>);

}  // namespace alloctap
