/// Size classes, timeline, markers and peak in schema alloctap.heap/1.
#pragma once

#include <cstddef>

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_fields.hpp"
#include "alloctap/record/timeline_point.hpp"
#include "alloctap/snapshot/size_histogram.hpp"

namespace alloctap {

/// Writes the size classes that have live blocks as an array.
inline void write_sizes(JsonBuilder& json, const SizeHistogram& sizes) {
  json.begin_array();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].live_allocations == 0) continue;
    json.begin_object();
    json.number("min_bytes", least_size(i));
    json.number("max_bytes", greatest_size(i));
    write_fields(json, sizes[i]);
    json.end_object();
  }
  json.end_array();
}

/// Writes `timeline` as an array.
inline void write_timeline(JsonBuilder& json, const ArenaArray<TimelinePoint>& timeline) {
  json.begin_array();
  for (const TimelinePoint& point : timeline) {
    json.begin_object();
    write_fields(json, point);
    json.end_object();
  }
  json.end_array();
}

/// Writes `markers` as an array.
inline void write_markers(JsonBuilder& json, const ArenaArray<Marker>& markers) {
  json.begin_array();
  for (const Marker& marker : markers) {
    json.begin_object();
    json.key("time_ns");
    json.value(marker.time_ns);
    json.text("name", marker.name);
    json.end_object();
  }
  json.end_array();
}

/// Writes `peak` as an object. `write_frames(StackId)` writes a stack's member "frames".
template <class WriteFrames>
void write_peak(JsonBuilder& json, const Peak& peak, WriteFrames&& write_frames) {
  json.begin_object();
  json.key("time_ns");
  json.value(peak.time_ns);
  json.number("live_bytes", peak.live_bytes);
  json.key("stacks");
  json.begin_array();
  for (const PeakStackSummary& stack : peak.stacks) {
    json.begin_object();
    write_frames(stack.stack);
    write_fields(json, stack);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace alloctap
