/// Runs a program once and leaves its report in two formats: the one in question, and JSON.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/support/tracked_program.hpp"

namespace alloctap::testing {

class FormatRun {
 public:
  /// `format` as --dump names it, `file` the name of the report in the run's directory.
  FormatRun(std::vector<std::string> command, const std::string& format, const std::string& file,
            const std::vector<std::string>& options = {})
      : program_(std::move(command)), path_(program_.file(file)) {
    std::vector<std::string> all{"--dump=" + format + "=" + path_};
    all.insert(all.end(), options.begin(), options.end());
    const Outcome outcome = run(program_.tracked(all));
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Dump json() const { return program_.dump(); }

  [[nodiscard]] std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    REQUIRE(file.good());
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  /// A path in the run's directory.
  [[nodiscard]] std::string file(const std::string& name) const { return program_.file(name); }

 private:
  TrackedProgram program_;
  std::string path_;
};

/// One function, as the frame at `index` of the JSON report shows it: a name, or its place.
[[nodiscard]] inline std::string label_of(const Json& report, const Json& frame, const Json& of) {
  if (!of.at("function").is_null()) return of.at("function").get<std::string>();
  char place[32];
  if (frame.at("module").is_null()) {
    std::snprintf(place, sizeof place, "0x%zx", frame.at("address").get<std::size_t>() - 1);
    return place;
  }
  const std::string path =
      report.at("modules").at(frame.at("module").get<std::size_t>()).at("path");
  std::snprintf(place, sizeof place, "+0x%zx", frame.at("offset").get<std::size_t>());
  return path.substr(path.rfind('/') + 1) + place;
}

/// The functions of a stack of the JSON report, leaf first, the inlined ones too.
[[nodiscard]] inline std::vector<std::string> labels_of(const Json& report, const Json& stack) {
  std::vector<std::string> labels;
  for (const Json& index : stack.at("frames")) {
    const Json& frame = report.at("frames").at(index.get<std::size_t>());
    for (const Json& inlined : frame.at("inlined")) {
      labels.push_back(label_of(report, frame, inlined));
    }
    labels.push_back(label_of(report, frame, frame));
  }
  if (labels.empty()) {
    const bool not_taken = stack.value("outside_size_range", false);
    labels.push_back(not_taken ? "[size outside the range]" : "[stack unknown]");
  }
  return labels;
}

}  // namespace alloctap::testing
