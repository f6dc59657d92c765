/// Definitions for dump/dhat_dump.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dhat_dump.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/call_paths.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_sections.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Implements `DhatDump::write`.
class DhatWriting {
  /// A program point: the sums of all stacks with one call path.
  struct Point {
    PathTree::Node path = PathTree::kRoot;
    std::uint64_t total_bytes = 0;
    std::uint64_t total_blocks = 0;
    std::uint64_t peak_bytes = 0;
    std::uint64_t peak_blocks = 0;
    std::uint64_t end_bytes = 0;
    std::uint64_t end_blocks = 0;
  };

 public:
  DhatWriting(const Report& report, DumpWriter& out)
      : report_(report), out_(out), json_(out), paths_(report) {}

  void write() {
    if (!paths_.complete() || !number_functions() || !add_points()) {
      return out_.fail("dhat: the system has no memory for stacks");
    }
    json_.begin_object();
    write_header();
    write_points();
    write_functions();
    json_.end_object();
    out_ << '\n';
  }

 private:
  [[nodiscard]] bool knows_peak() const noexcept { return report_.snapshot.peak.time_ns != 0; }

  bool number_functions() noexcept {
    std::uint32_t next = 1;
    bool complete = true;
    for (std::size_t call = 0; call < paths_.calls() && complete; ++call) {
      complete = first_functions_.push_back(next);
      paths_.visit_functions(call, [&](const LabelledFrame&) { ++next; });
    }
    return complete;
  }

  /// Adds one point for each distinct path, because the viewer refuses points with equal frames.
  bool add_points() noexcept {
    const auto& stacks = report_.snapshot.stacks;
    ArenaArray<PathTree::Node> paths;
    for (const StackSummary& stack : stacks) {
      const PathTree::Node path = paths_.add_root_first(stack.stack);
      if (path == PathTree::kNone || !paths.push_back(path)) return false;
    }
    // Indexed by path node: the number of the path's point plus 1.
    ArenaArray<std::uint32_t> points;
    if (!points.resize(std::size_t{paths_.tree().last()} + 1)) return false;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      std::uint32_t& point = points[paths[i]];
      if (point == 0) {
        if (!points_.push_back({.path = paths[i]})) return false;
        point = static_cast<std::uint32_t>(points_.size());
      }
      add(stacks[i], points_[point - 1]);
    }
    return true;
  }

  void add(const StackSummary& stack, Point& point) const noexcept {
    const PeakStackSummary peak = report_.snapshot.peak.of(stack.stack);
    point.total_bytes += stack.total.allocated_bytes;
    point.total_blocks += stack.total.allocations;
    point.peak_bytes += peak.live_bytes;
    point.peak_blocks += peak.live_allocations;
    point.end_bytes += stack.live_bytes;
    point.end_blocks += stack.live_allocations;
  }

  void write_header() {
    json_.number("dhatFileVersion", 2);
    json_.text("mode", "alloctap");
    json_.text("verb", "Allocated");
    write_truth("bklt", knows_peak());
    write_truth("bkacc", false);
    json_.text("tu", "us");
    json_.text("Mtu", "s");
    json_.number("tuth", 0);
    write_command();
    json_.number("pid", static_cast<std::uint64_t>(report_.program.pid));
    json_.number("te", time_of(report_.snapshot.time_ns));
    if (knows_peak()) json_.number("tg", time_of(report_.snapshot.peak.time_ns));
    json_.key("alloctap");
    json_.begin_object();
    JsonOpening(report_, json_).write();
    json_.end_object();
  }

  void write_truth(const char* key, bool truth) {
    json_.key(key);
    json_.value(truth);
  }

  /// Writes the command line with a space in place of each '\0', cut at 4096 bytes.
  void write_command() {
    const ProgramInfo& program = report_.program;
    char command[4096];
    const std::string_view text =
        (program.command.empty() ? program.executable : program.command).substr(0, sizeof command);
    std::replace_copy(text.begin(), text.end(), command, '\0', ' ');
    json_.text("cmd", {command, text.size()});
  }

  [[nodiscard]] std::uint64_t time_of(std::int64_t time_ns) const noexcept {
    constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
    const auto& timeline = report_.snapshot.timeline;
    if (timeline.empty() || time_ns < timeline[0].time_ns) return 0;
    return static_cast<std::uint64_t>((time_ns - timeline[0].time_ns) / kNanosecondsPerMicrosecond);
  }

  void write_points() {
    json_.key("pps");
    json_.begin_array();
    for (const Point& point : points_) {
      json_.begin_object();
      json_.number("tb", point.total_bytes);
      json_.number("tbk", point.total_blocks);
      if (knows_peak()) write_moments(point);
      write_frames(point.path);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_moments(const Point& point) {
    json_.number("mb", std::max(point.peak_bytes, point.end_bytes));
    json_.number("mbk", std::max(point.peak_blocks, point.end_blocks));
    json_.number("gb", point.peak_bytes);
    json_.number("gbk", point.peak_blocks);
    json_.number("eb", point.end_bytes);
    json_.number("ebk", point.end_blocks);
  }

  /// Writes the frames of a path, leaf first.
  void write_frames(PathTree::Node path) {
    json_.key("fs");
    json_.begin_array();
    for (; path != PathTree::kRoot; path = paths_.tree().parent(path)) {
      const std::uint32_t call = paths_.tree().step(path);
      std::uint64_t function = first_functions_[call];
      paths_.visit_functions(call, [&](const LabelledFrame&) { json_.value(function++); });
    }
    json_.end_array();
  }

  void write_functions() {
    json_.key("ftbl");
    json_.begin_array();
    json_.string("[root]");
    for (std::size_t call = 0; call < paths_.calls(); ++call) {
      paths_.visit_functions(call, [&](const LabelledFrame& frame) {
        json_.string(ValgrindFrame(frame, paths_.place(call)).view());
      });
    }
    json_.end_array();
  }

  const Report& report_;
  DumpWriter& out_;
  JsonBuilder json_;
  CallPaths paths_;
  /// Indexed by call: the number of the call's innermost function in the function table.
  ArenaArray<std::uint32_t> first_functions_;
  ArenaArray<Point> points_;
};

ALLOCTAP_INLINE void DhatDump::write(const Report& report, DumpWriter& out) const {
  DhatWriting(report, out).write();
}

static_assert(DumpPolicy<DhatDump>);

}  // namespace alloctap
