#include "alloctap/dump/json_owners.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "alloctap/dump/json_dump.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::JsonDump;
using nlohmann::json;

}  // namespace

TEST_CASE("tags have their sums, and each stack says whose it is") {
  const TaggedReport sample;
  const json report = json::parse(render(JsonDump{}, sample.report()));
  REQUIRE(report["tags"].size() == 5);
  CHECK(report["tags"][0]["tag"] == nullptr);
  CHECK(report["tags"][0]["live_bytes"] == 1089538);
  CHECK(report["tags"][1] == json::parse(R"({
      "tag": "Game/Sound/Voice", "allocations": 50, "allocated_bytes": 5000,
      "live_allocations": 3, "live_bytes": 300, "temporary_allocations": 5,
      "live_bytes_with_nested": 300, "overhead_bytes": 0})"));
  CHECK(report["tags"][3]["tag"] == "Game");
  CHECK(report["tags"][3]["live_bytes"] == 0);
  CHECK(report["tags"][3]["live_bytes_with_nested"] == 500);
  CHECK(report["stacks"][0]["tag"] == nullptr);
  CHECK(report["stacks"][0]["thread"] == nullptr);
  CHECK(report["stacks"][4]["tag"] == "Game/Physics");
  CHECK(report["stacks"][6]["tag"] == "Game/Sound/Voice");
  CHECK(report["stacks"][6]["thread"] == 0);
  CHECK(report["threads"][1]["live_bytes"] == 8);
  CHECK(report["threads"][1]["live_allocations"] == 1);
}

TEST_CASE("without tags and owners of stacks nothing is told of them") {
  const SampleReport sample;
  const json report = json::parse(render(JsonDump{}, sample.report()));
  CHECK(report["tags"] == nullptr);
  CHECK(report["threads"][0]["live_bytes"] == nullptr);
  CHECK(report["stacks"][1]["tag"] == nullptr);
}

TEST_CASE("who gave back what is in a report that was asked for it") {
  TaggedReport sample;
  CHECK(json::parse(render(JsonDump{}, sample.report()))["ownership"].is_null());
  sample.hand_over();
  const json report = json::parse(render(JsonDump{}, sample.report()));
  CHECK(report["ownership"] == json::parse(R"([
      {"allocating_thread": 0, "freeing_thread": 1, "blocks": 30, "bytes": 3000},
      {"allocating_thread": 0, "freeing_thread": 0, "blocks": 2, "bytes": 200},
      {"allocating_thread": null, "freeing_thread": 1, "blocks": 1, "bytes": 7}])"));
}
