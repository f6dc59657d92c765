// Folded stacks, read as flamegraph.pl reads them, show the numbers of the JSON report.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;

using Folded = std::map<std::string, std::uint64_t>;

/// As flamegraph.pl: greedy text, white space, digits; equal stacks add up; nothing is ignored.
Folded read_folded(const std::string& text) {
  static const std::regex line_form(R"(^(.*)\s+(\d+)$)");
  Folded folded;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    CAPTURE(line);
    REQUIRE(std::regex_match(line, parts, line_form));
    folded[parts[1]] += std::stoull(parts[2]);
  }
  return folded;
}

Folded expected_of(const Json& report) {
  Folded folded;
  for (const Json& stack : report.at("stacks")) {
    const auto bytes = stack.at("live_bytes").get<std::uint64_t>();
    if (bytes == 0) continue;
    std::vector<std::string> labels = labels_of(report, stack);
    std::string line;
    for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
      std::replace(label->begin(), label->end(), ';', ':');
      line += (line.empty() ? "" : ";") + *label;
    }
    folded[line] += bytes;
  }
  return folded;
}

void check_folded(const FormatRun& run) {
  const Dump json = run.json();
  const Folded folded = read_folded(run.text());
  CHECK(folded == expected_of(json.json()));
  std::uint64_t sum = 0;
  for (const auto& [stack, bytes] : folded) sum += bytes;
  CHECK(sum == json.total("live_bytes"));
}

}  // namespace

TEST_CASE("folded stacks of a program whose calls are known") {
  const FormatRun run({ALLOCTAP_PROGRAMS "stacks"}, "folded", "heap.folded");
  check_folded(run);
  const Folded folded = read_folded(run.text());
  const auto found = std::find_if(folded.begin(), folded.end(), [](const auto& entry) {
    return entry.second == 1001 &&
           entry.first.find(";main;outer;large_frame;middle;inner;leaf") != std::string::npos;
  });
  CHECK(found != folded.end());
}

TEST_CASE("folded stacks of a program that nobody wrote for it") {
  check_folded(FormatRun({"/usr/bin/python3", "-c",
                          "import json, decimal; x = [str(i) for i in "
                          "range(20000)]; import os; os._exit(0)"},
                         "folded", "heap.folded"));
}

TEST_CASE("folded stacks of one frame each") {
  check_folded(FormatRun({"/bin/sh", "-c", "true"}, "folded", "heap.folded", {"--stack=none"}));
}
