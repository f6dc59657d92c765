#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/json_sections.hpp"
#include "tests/support/sample_report.hpp"

using alloctap::JsonDump;
using alloctap::testing::render;
using alloctap::testing::SampleReport;

TEST_CASE("JSON has the checks that are on, found or not") {
  SampleReport sample;
  const auto checks = [&sample] {
    return nlohmann::json::parse(render(JsonDump{}, sample.report()))["misuses"]["checks"];
  };
  CHECK(checks() == nlohmann::json::array());
  sample.snapshot.checks = {.kinds = true, .rear_guard = 32, .abort_on = {}};
  CHECK(checks() == nlohmann::json::parse(R"(["rear_guard=32", "verify_kinds"])"));
}

TEST_CASE("JSON has the faults that rules name too, and the rules") {
  SampleReport sample;
  sample.add_misuses();
  alloctap::Suppressions suppressions;
  REQUIRE(
      suppressions.add("only-write_behind:nobody\nleak:main\ndouble_free:engine::load", "rules.txt")
          .ok());
  const nlohmann::json report = nlohmann::json::parse(
      render(JsonDump{.suppressions = &suppressions, .leaks = false}, sample.report()));
  CHECK(report["leaks"].is_null());
  const nlohmann::json& misuses = report["misuses"];
  CHECK(misuses["suppressed"] == nlohmann::json::parse(R"({"ways": 2, "times": 3})"));
  CHECK(misuses["rules"] == nlohmann::json::parse(R"([
      {"subject": "write_behind", "only": true, "pattern": "nobody", "source": "rules.txt",
       "line": 1, "ways": 0, "times": 0},
      {"subject": "double_free", "only": false, "pattern": "engine::load", "source": "rules.txt",
       "line": 3, "ways": 1, "times": 2}])"));
  REQUIRE(misuses["faults"].size() == 5);
  CHECK(misuses["faults"][0]["suppressed_by"] == 1);
  CHECK(misuses["faults"][1]["suppressed_by"] == 0);
  CHECK(misuses["faults"][2]["suppressed_by"].is_null());
}
