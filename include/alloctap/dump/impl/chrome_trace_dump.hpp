/// Definitions for dump/chrome_trace_dump.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "alloctap/dump/chrome_trace_dump.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_sections.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Implements `ChromeTraceDump::write`.
class ChromeTraceWriting {
  /// An event of the trace, as an index into one of the snapshot's arrays.
  struct Moment {
    enum class Kind : std::uint8_t { kPoint, kFrame, kMarker, kPeak, kEnd };

    std::int64_t time_ns = 0;
    Kind kind = Kind::kPoint;
    std::size_t index = 0;

    friend bool operator<(const Moment& one, const Moment& other) noexcept {
      return std::tie(one.time_ns, one.kind, one.index) <
             std::tie(other.time_ns, other.kind, other.index);
    }
  };

 public:
  ChromeTraceWriting(const Report& report, DumpWriter& out)
      : report_(report), snapshot_(report.snapshot), out_(out), json_(out) {}

  void write() {
    if (!list_moments() || !tags_.complete())
      return out_.fail("chrome-trace: the system has no memory for moments");
    json_.begin_object();
    json_.key("traceEvents");
    json_.begin_array();
    write_names();
    for (const Moment& moment : moments_) write_moment(moment);
    json_.end_array();
    json_.key("otherData");
    json_.begin_object();
    JsonOpening(report_, json_).write();
    json_.end_object();
    json_.end_object();
    out_ << '\n';
  }

 private:
  bool list_moments() noexcept {
    using Kind = Moment::Kind;
    bool complete = moments_.push_back({.time_ns = snapshot_.time_ns, .kind = Kind::kEnd});
    for (std::size_t i = 0; i < snapshot_.timeline.size(); ++i) {
      complete = moments_.push_back({snapshot_.timeline[i].time_ns, Kind::kPoint, i}) && complete;
    }
    for (std::size_t i = 0; i < snapshot_.frames.last.size(); ++i) {
      const std::int64_t begin_ns = snapshot_.frames.last[i].begin_ns;
      complete = moments_.push_back({begin_ns, Kind::kFrame, i}) && complete;
    }
    for (std::size_t i = 0; i < snapshot_.markers.size(); ++i) {
      complete = moments_.push_back({snapshot_.markers[i].time_ns, Kind::kMarker, i}) && complete;
    }
    if (snapshot_.peak.time_ns != 0) {
      complete = moments_.push_back({snapshot_.peak.time_ns, Kind::kPeak, 0}) && complete;
    }
    std::sort(moments_.begin(), moments_.end());
    return complete;
  }

  void write_names() {
    const std::string_view path = report_.program.executable;
    write_name("process_name", process(), path.substr(path.rfind('/') + 1));
    for (const ThreadSummary& thread : snapshot_.threads) {
      if (thread.alive) {
        write_name("thread_name", static_cast<std::uint64_t>(thread.thread_id), thread.name());
      }
    }
  }

  void write_name(const char* kind, std::uint64_t thread, std::string_view name) {
    if (name.empty()) return;
    begin_event("M", kind, thread);
    json_.key("args");
    json_.begin_object();
    json_.text("name", name);
    json_.end_object();
    json_.end_object();
  }

  void write_moment(const Moment& moment) {
    time_us_ = static_cast<std::uint64_t>(moment.time_ns - moments_[0].time_ns) / 1000;
    switch (moment.kind) {
      case Moment::Kind::kPoint:
        return write_point(moment.index);
      case Moment::Kind::kFrame:
        return write_frame(snapshot_.frames.last[moment.index]);
      case Moment::Kind::kMarker:
        return write_instant(snapshot_.markers[moment.index].name);
      case Moment::Kind::kPeak:
        return write_instant("peak", &snapshot_.peak);
      case Moment::Kind::kEnd:
        return write_live(snapshot_.totals.live_bytes, snapshot_.totals.live_allocations);
    }
  }

  void write_point(std::size_t index) {
    const TimelinePoint& point = snapshot_.timeline[index];
    write_live(point.live_bytes, point.live_allocations);
    write_counter("resident bytes", point.resident_bytes);
    if (index + 1 < snapshot_.timeline.size()) {
      const TimelinePoint& next = snapshot_.timeline[index + 1];
      const std::int64_t span_ns = next.time_ns - point.time_ns;
      write_rate("allocations per second", point.allocations, next.allocations, span_ns);
      write_rate("allocated bytes per second", point.allocated_bytes, next.allocated_bytes,
                 span_ns);
    }
  }

  void write_live(std::uint64_t bytes, std::uint64_t blocks) {
    write_counter("live bytes", bytes);
    write_counter("live blocks", blocks);
  }

  /// Writes a game frame's slice and counters. A counter keeps its value until the next game frame.
  void write_frame(const FrameSummary& frame) {
    ShortText name;
    name.append("frame ");
    name.append(frame.number);
    begin_event("X", name, process());
    json_.number("ts", time_us_);
    json_.number("dur", static_cast<std::uint64_t>(frame.duration_ns) / 1000);
    json_.key("args");
    json_.begin_object();
    json_.number("allocations", frame.counts.allocations);
    json_.number("allocated_bytes", frame.counts.allocated_bytes);
    json_.number("allocator_us", frame.counts.allocator_ns / 1000);
    json_.number("peak_bytes", frame.peak_bytes);
    json_.end_object();
    json_.end_object();
    write_counter("allocations in a frame", frame.counts.allocations);
    write_counter("allocated bytes in a frame", frame.counts.allocated_bytes);
    for (std::uint32_t i = 0; i < frame.tag_count; ++i) {
      write_held(snapshot_.frames.tags[frame.first_tag + i]);
    }
  }

  void write_held(const TagOfFrame& of_tag) {
    if (of_tag.tag == kOtherTags) return;
    constexpr std::string_view kBegin = "held by ";
    const std::string_view path = of_tag.tag == kNoTag ? "no tag" : tags_.of(of_tag.tag);
    char name[kBegin.size() + TagPaths::kLongest];
    std::size_t length = kBegin.copy(name, kBegin.size());
    length += path.copy(name + length, TagPaths::kLongest);
    write_counter({name, length}, of_tag.held_bytes);
  }

  void write_rate(const char* name, std::uint64_t before, std::uint64_t after,
                  std::int64_t span_ns) {
    if (span_ns <= 0 || after < before) return;
    const long double seconds = static_cast<long double>(span_ns) / 1'000'000'000;
    write_counter(name,
                  static_cast<std::uint64_t>(static_cast<long double>(after - before) / seconds));
  }

  void write_counter(std::string_view name, std::uint64_t value) {
    begin_event("C", name, process());
    json_.number("ts", time_us_);
    json_.key("args");
    json_.begin_object();
    json_.number("value", value);
    json_.end_object();
    json_.end_object();
  }

  void write_instant(std::string_view name, const Peak* peak = nullptr) {
    begin_event("i", name, process());
    json_.text("s", "g");
    json_.number("ts", time_us_);
    if (peak != nullptr) {
      json_.key("args");
      json_.begin_object();
      json_.number("live_bytes", peak->live_bytes);
      json_.end_object();
    }
    json_.end_object();
  }

  /// Returns the process id, which is also the id of the process's first thread.
  [[nodiscard]] std::uint64_t process() const noexcept {
    return static_cast<std::uint64_t>(report_.program.pid);
  }

  void begin_event(const char* phase, std::string_view name, std::uint64_t thread) {
    json_.begin_object();
    json_.text("ph", phase);
    json_.text("name", name);
    json_.number("pid", process());
    json_.number("tid", thread);
  }

  const Report& report_;
  const Snapshot& snapshot_;
  DumpWriter& out_;
  JsonBuilder json_;
  TagPaths tags_{snapshot_.tags};
  /// Sorted by time.
  ArenaArray<Moment> moments_;
  std::uint64_t time_us_ = 0;
};

ALLOCTAP_INLINE void ChromeTraceDump::write(const Report& report, DumpWriter& out) const {
  ChromeTraceWriting(report, out).write();
}

static_assert(DumpPolicy<ChromeTraceDump>);

}  // namespace alloctap
