/// Report format: SARIF 2.1.0 (OASIS standard, 2020), for code scanning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/testing/finding_format.hpp"
#include "alloctap/version.hpp"

namespace alloctap::testing {

/// Writes parts of a report into the open JSON object. The constructor's arguments must outlive
/// this object.
class SarifPlaces {
 public:
  /// Paths below `source_root` are written relative to that directory.
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

  /// Writes all stacks under "stacks"; writes nothing if there are none.
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

/// A report in SARIF with one run and a rule for each kind of finding. Writes the first stack also
/// as a code flow, because GitHub displays code flows. The fingerprint hashes the rule, the test,
/// and the stacks' modules and functions, but no lines, because edits change lines. Needs
/// RapidJSON: target alloctap::json_dump.
struct SarifFindings {
  /// Root directory of the repository. Paths below this directory are written relative to it, as
  /// GitHub requires.
  std::string_view source_root = {};

  void write(const Findings& findings, DumpWriter& out) const {
    Writing(findings, source_root, out).write();
    out << '\n';
  }

 private:
  class Writing {
   public:
    Writing(const Findings& findings, std::string_view source_root, DumpWriter& out)
        : findings_(findings), source_root_(source_root), json_(out), places_(json_, source_root) {}

    void write() {
      json_.begin_object();
      json_.text("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
      json_.text("version", "2.1.0");
      json_.key("runs");
      json_.begin_array();
      json_.begin_object();
      write_tool();
      json_.key("results");
      json_.begin_array();
      for (const Finding& finding : findings_.all) write_result(finding);
      json_.end_array();
      json_.end_object();
      json_.end_array();
      json_.end_object();
    }

   private:
    void write_tool() {
      json_.key("tool");
      json_.begin_object();
      json_.key("driver");
      json_.begin_object();
      json_.text("name", "alloctap");
      json_.text("semanticVersion", kVersionString);
      json_.key("rules");
      json_.begin_array();
      for (const Finding& finding : findings_.all) {
        if (number_of(rule_id(finding)) < rules_.size()) continue;
        rules_.push_back(rule_id(finding));
        write_rule(finding);
      }
      json_.end_array();
      json_.end_object();
      json_.end_object();
    }

    void write_rule(const Finding& finding) {
      const FindingRule rule = rule_of(finding.kind);
      json_.begin_object();
      json_.text("id", rule_id(finding));
      json_.text("name", rule.name);
      places_.write_message("shortDescription", rule.summary);
      json_.end_object();
    }

    /// Returns the index of `rule` in `rules_`; `rules_.size()` if not found.
    [[nodiscard]] std::size_t number_of(std::string_view rule) const noexcept {
      std::size_t number = 0;
      while (number < rules_.size() && rules_[number] != rule) ++number;
      return number;
    }

    void write_result(const Finding& finding) {
      json_.begin_object();
      json_.text("ruleId", rule_id(finding));
      json_.number("ruleIndex", number_of(rule_id(finding)));
      json_.text("level", level_name(finding.level));
      places_.write_message("message", message_of(finding));
      json_.key("locations");
      json_.begin_array();
      const SourcePlace place = place_of(finding, source_root_);
      if (!place.file.empty()) places_.write_location(place, {});
      json_.end_array();
      places_.write_stacks(finding);
      places_.write_code_flow(finding);
      json_.key("partialFingerprints");
      json_.begin_object();
      json_.text("alloctapFunctions/v1", fingerprint(finding));
      json_.end_object();
      write_properties(finding);
      json_.end_object();
    }

    static std::string_view level_name(FindingLevel level) noexcept {
      switch (level) {
        case FindingLevel::kWarning:
          return "warning";
        case FindingLevel::kNote:
          return "note";
        case FindingLevel::kError:
          break;
      }
      return "error";
    }

    static std::string fingerprint(const Finding& finding) {
      std::string text(rule_id(finding));
      for (const std::string& part : {finding.test_suite, finding.test_case}) text += '\n' + part;
      for (const FindingStack& stack : finding.stacks) {
        for (const FrameText& frame : stack.frames)
          text += '\n' + frame.module + ' ' + frame.function;
      }
      return std::to_string(hash_text(text));
    }

    void write_properties(const Finding& finding) {
      json_.key("properties");
      json_.begin_object();
      json_.number("count", finding.count);
      json_.number("bytes", finding.bytes);
      if (!finding.test_suite.empty()) json_.text("testSuite", finding.test_suite);
      if (!finding.test_case.empty()) json_.text("testCase", finding.test_case);
      json_.end_object();
    }

    const Findings& findings_;
    const std::string_view source_root_;
    JsonBuilder json_;
    SarifPlaces places_;
    /// Ids of the rules; a rule's position is its index in the report.
    std::vector<std::string_view> rules_;
  };
};

static_assert(FindingFormat<SarifFindings>);

}  // namespace alloctap::testing
