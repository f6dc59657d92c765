// Files for speedscope are what its schema allows, and show the numbers of the JSON report.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

/// Weights by stack, root first.
using Weights = std::map<Texts, std::uint64_t>;

Weights weights_of(const Json& file, const Json& profile) {
  Weights weights;
  const Json& samples = profile.at("samples");
  REQUIRE(samples.size() == profile.at("weights").size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Texts stack;
    for (const Json& frame : samples[i]) {
      stack.push_back(file.at("shared").at("frames").at(frame.get<std::size_t>()).at("name"));
    }
    weights[stack] += profile.at("weights")[i].get<std::uint64_t>();
  }
  return weights;
}

Weights expected_of(const Json& report, const char* key) {
  Weights weights;
  for (const Json& stack : report.at("stacks")) {
    Texts labels = labels_of(report, stack);
    std::reverse(labels.begin(), labels.end());
    const auto weight = stack.at(key).get<std::uint64_t>();
    if (weight > 0) weights[labels] += weight;
  }
  return weights;
}

void check_speedscope(const FormatRun& run) {
  const Outcome outcome = alloctap::testing::run(
      {.arguments = {"/usr/bin/python3", ALLOCTAP_FORMATS "validate.py",
                     ALLOCTAP_FORMATS "speedscope/file-format-schema.json", run.path()}});
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  const Dump json = run.json();
  const Json file = Json::parse(run.text());
  const Texts keys{"live_bytes", "live_allocations", "allocated_bytes", "allocations"};
  REQUIRE(file.at("profiles").size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Json& profile = file.at("profiles").at(i);
    CHECK(profile.at("endValue") == json.total(keys[i].c_str()));
    CHECK(weights_of(file, profile) == expected_of(json.json(), keys[i].c_str()));
  }
}

}  // namespace

TEST_CASE("speedscope of a program whose calls are known") {
  check_speedscope(FormatRun({ALLOCTAP_PROGRAMS "stacks"}, "speedscope", "heap.speedscope.json"));
}

TEST_CASE("speedscope of a program that nobody wrote for it") {
  check_speedscope(
      FormatRun({"/usr/bin/python3", "-c",
                 "import json, decimal, os; x = [str(i) for i in range(20000)]; os._exit(0)"},
                "speedscope", "heap.speedscope.json"));
}

TEST_CASE("the validator refuses what the schema does not allow") {
  const FormatRun run({ALLOCTAP_PROGRAMS "stacks"}, "json", "heap.json");
  const Outcome outcome = alloctap::testing::run(
      {.arguments = {"/usr/bin/python3", ALLOCTAP_FORMATS "validate.py",
                     ALLOCTAP_FORMATS "speedscope/file-format-schema.json", run.path()}});
  CHECK(outcome.exit_code() != 0);
}
