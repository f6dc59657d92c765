/// SARIF output of locations, stacks and messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/testing/finding.hpp"
#include "alloctap/testing/finding_place.hpp"

namespace alloctap::testing {

/// Writes members into the open JSON object. Refers to the builder and to the path.
class SarifPlaces {
 public:
  /// Paths below `source_root` are written relative to it.
  SarifPlaces(JsonBuilder& json, std::string_view source_root) noexcept
      : json_(json), source_root_(source_root) {}

  /// Writes `text` as a message object under `key`.
  void write_message(const char* key, std::string_view text) {
    json_.key(key);
    json_.begin_object();
    json_.text("text", text);
    json_.end_object();
  }

  /// Writes a location, with the function's name if known.
  void write_location(const SourcePlace& place, std::string_view function) {
    json_.begin_object();
    if (!place.file.empty()) write_physical_location(place);
    if (!function.empty()) {
      json_.key("logicalLocations");
      json_.begin_array();
      json_.begin_object();
      json_.text("fullyQualifiedName", function);
      json_.text("kind", "function");
      json_.end_object();
      json_.end_array();
      write_message("message", function);
    }
    json_.end_object();
  }

  /// Writes all stacks under "stacks"; omits an empty list.
  void write_stacks(const Finding& finding) {
    if (finding.stacks.empty()) return;
    json_.key("stacks");
    json_.begin_array();
    for (const FindingStack& stack : finding.stacks) {
      json_.begin_object();
      if (!stack.title.empty()) write_message("message", stack.title);
      json_.key("frames");
      json_.begin_array();
      for (const FrameText& frame : stack.frames) {
        json_.begin_object();
        write_frame_location(frame);
        if (!frame.module.empty()) json_.text("module", frame.module);
        json_.end_object();
      }
      json_.end_array();
      json_.end_object();
    }
    json_.end_array();
  }

  /// Writes the first stack under "codeFlows" in call order, outermost first.
  void write_code_flow(const Finding& finding) {
    if (finding.stacks.empty() || finding.stacks.front().frames.empty()) return;
    const std::vector<FrameText>& frames = finding.stacks.front().frames;
    json_.key("codeFlows");
    json_.begin_array();
    json_.begin_object();
    json_.key("threadFlows");
    json_.begin_array();
    json_.begin_object();
    json_.key("locations");
    json_.begin_array();
    for (std::size_t i = frames.size(); i-- > 0;) {
      json_.begin_object();
      write_frame_location(frames[i]);
      json_.end_object();
    }
    json_.end_array();
    json_.end_object();
    json_.end_array();
    json_.end_object();
    json_.end_array();
  }

 private:
  void write_physical_location(const SourcePlace& place) {
    json_.key("physicalLocation");
    json_.begin_object();
    json_.key("artifactLocation");
    json_.begin_object();
    json_.text("uri", uri_of(place.file));
    json_.end_object();
    if (place.line > 0) {
      json_.key("region");
      json_.begin_object();
      json_.number("startLine", place.line);
      json_.end_object();
    }
    json_.end_object();
  }

  void write_frame_location(const FrameText& frame) {
    json_.key("location");
    write_location({path_below(frame.file, source_root_), frame.line},
                   frame.function.empty() ? "??" : std::string_view(frame.function));
  }

  JsonBuilder& json_;
  const std::string_view source_root_;
};

}  // namespace alloctap::testing
