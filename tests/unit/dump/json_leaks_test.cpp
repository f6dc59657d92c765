#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/json_sections.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

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
      "live_bytes": 1048578, "unreachable": null,
      "suppressed": {"stacks": 1, "live_allocations": 10, "live_bytes": 40960},
      "rules": [{"subject": "leak", "only": false, "pattern": "nobody", "source": "rules.txt", "line": 1, "stacks": 0,
                 "live_allocations": 0, "live_bytes": 0},
                {"subject": "leak", "only": false, "pattern": "engine::load", "source": "rules.txt", "line": 2, "stacks": 1,
                 "live_allocations": 10, "live_bytes": 40960}]})"));
  CHECK(report["stacks"][0]["suppressed_by"].is_null());
  CHECK(report["stacks"][0]["unreachable"].is_null());
  CHECK(report["stacks"][1]["suppressed_by"] == 1);
  CHECK(report["stacks"][3]["suppressed_by"].is_null());
}

TEST_CASE("what the program expects to stay is no leak, in the sum and at its stack") {
  TaggedReport sample;
  const auto stays = sample.tags->find_or_add(sample.game, ALLOCTAP_EXPECTED_TO_STAY);
  sample.add({sample.intern({SampleReport::kMain + 1}, {.tag = stays}), {1, 512, 0}, 1, 512});
  const alloctap::Suppressions suppressions;
  const json report = parsed_leaks(sample.report(), &suppressions);
  CHECK(report["leaks"]["suppressed"]["live_bytes"] == 512);
  std::uint64_t leaked = 0;
  for (const json& stack : report["stacks"]) {
    CHECK(stack["suppressed_by"].is_null());
    CHECK(stack["expected_to_stay"] == (stack["tag"] == "Game/" ALLOCTAP_EXPECTED_TO_STAY));
    if (!stack["expected_to_stay"]) leaked += stack["live_bytes"].get<std::uint64_t>();
  }
  CHECK(leaked == report["leaks"]["live_bytes"]);
}

TEST_CASE("what a scan found is told of each stack and of all") {
  SampleReport sample;
  sample.snapshot.scan = {.done = true,
                          .unseen_threads = 2,
                          .unread_bytes = 4096,
                          .stopped_ns = 5000,
                          .scan_ns = 70'000};
  sample.snapshot.stacks[0].unreachable = {1, 3, 0, 0};
  sample.snapshot.stacks[1].unreachable = {2, 8000, 1, 500};
  alloctap::Suppressions suppressions;
  REQUIRE(suppressions.add("leak:nobody", "rules.txt").ok());
  const json report = parsed_leaks(sample.report(), &suppressions);
  CHECK(report["stacks"][1]["unreachable"] ==
        json::parse(R"({"definite_allocations": 2, "definite_bytes": 8000,
                        "indirect_allocations": 1, "indirect_bytes": 500})"));
  CHECK(report["leaks"]["stacks"] == 2);
  CHECK(report["leaks"]["live_allocations"] == 4);
  CHECK(report["leaks"]["live_bytes"] == 8503);
  CHECK(report["leaks"]["unreachable"] ==
        json::parse(R"({"definite": {"stacks": 2, "live_allocations": 3, "live_bytes": 8003},
                        "indirect": {"stacks": 1, "live_allocations": 1, "live_bytes": 500},
                        "unseen_threads": 2, "unread_bytes": 4096, "stopped_ns": 5000,
                        "scan_ns": 70000})"));
}
