/// Runs a program with every stack captured twice.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/support/process.hpp"
#include "tests/support/temporary_directory.hpp"

namespace alloctap::testing {

using Json = nlohmann::json;

/// A program under the object of `comparing_preload.cpp`, in a directory of its own.
class ComparedProgram {
 public:
  explicit ComparedProgram(std::vector<std::string> arguments)
      : command_{.arguments = std::move(arguments), .directory = directory_.file("")} {
    std::ofstream(directory_.file("comparison.json")).close();
    set("LD_PRELOAD", ALLOCTAP_COMPARING_OBJECT);
    set("ALLOCTAP_COMPARE", directory_.file("comparison.json"));
  }

  [[nodiscard]] Command& command() { return command_; }
  [[nodiscard]] std::string file(const std::string& name) const { return directory_.file(name); }

  void set(const std::string& name, const std::string& value) {
    command_.environment.push_back(name + "=" + value);
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
  }

  /// Runs the program, which must succeed; what each process of it left, in the order of their
  /// ends.
  std::vector<Json> run() {
    const Outcome outcome = testing::run(command_);
    CAPTURE(outcome.err);
    CHECK(outcome.status == 0);
    output = outcome.out;
    std::vector<Json> lines;
    std::ifstream comparison(file("comparison.json"));
    for (std::string line; std::getline(comparison, line);) lines.push_back(Json::parse(line));
    REQUIRE_FALSE(lines.empty());
    return lines;
  }

  /// What the program printed.
  std::string output;

 private:
  TemporaryDirectory directory_;
  Command command_;
};

/// All was equal, and there was something to compare: at least `captures` of the last process.
inline void check_equal(const std::vector<Json>& lines, std::uint64_t captures) {
  for (const Json& line : lines) {
    const std::string shown = line.dump(1);
    CAPTURE(shown);
    CHECK(line.at("different") == 0);
  }
  CHECK(lines.back().at("compared") >= captures);
}

/// The same, and stacks of the last process that no unwind tables lead through mostly went on by
/// frame records.
inline void check_passed(const std::vector<Json>& lines, std::uint64_t captures) {
  check_equal(lines, captures);
  CHECK(lines.back().at("by_records") > lines.back().at("tested_failed"));
}

}  // namespace alloctap::testing
