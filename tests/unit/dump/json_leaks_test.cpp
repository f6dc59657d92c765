#include "alloctap/dump/json_leaks.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "alloctap/dump/json_dump.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap::testing;
using nlohmann::json;

json parsed_leaks(const alloctap::Report& report,
                  const alloctap::Suppressions* suppressions = nullptr) {
  return json::parse(render(alloctap::JsonDump{.suppressions = suppressions}, report));
}

}  // namespace

TEST_CASE("leaks are told where suppressions ask for them") {
  const SampleReport sample;
  const json without = parsed_leaks(sample.report());
  CHECK(without["leaks"].is_null());
  CHECK(without["stacks"][1]["suppressed_by"].is_null());
  alloctap::Suppressions suppressions;
  REQUIRE(suppressions.add("leak:nobody\nleak:engine::load", "rules.txt").ok());
  const json report = parsed_leaks(sample.report(), &suppressions);
  CHECK(report["leaks"] == json::parse(R"({"stacks": 2, "live_allocations": 3,
      "live_bytes": 1048578,
      "suppressed": {"stacks": 1, "live_allocations": 10, "live_bytes": 40960},
      "rules": [{"pattern": "nobody", "source": "rules.txt", "line": 1, "stacks": 0,
                 "live_allocations": 0, "live_bytes": 0},
                {"pattern": "engine::load", "source": "rules.txt", "line": 2, "stacks": 1,
                 "live_allocations": 10, "live_bytes": 40960}]})"));
  CHECK(report["stacks"][0]["suppressed_by"].is_null());
  CHECK(report["stacks"][1]["suppressed_by"] == 1);
  CHECK(report["stacks"][3]["suppressed_by"].is_null());
}
