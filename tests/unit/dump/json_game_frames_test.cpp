#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/json_owners.hpp"
#include "tests/support/framed_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::JsonDump;
using nlohmann::json;

json framed() {
  const FramedReport sample;
  return json::parse(render(JsonDump{}, sample.report()));
}

json addresses_of(const json& report, const json& indices) {
  json addresses = json::array();
  for (const json& index : indices) {
    addresses.push_back(report["frames"][index.get<std::size_t>()]["address"]);
  }
  return addresses;
}

}  // namespace

TEST_CASE("a tracker without frames tells of none") {
  const SampleReport sample;
  CHECK(json::parse(render(JsonDump{}, sample.report()))["game_frames"] == nullptr);
}

TEST_CASE("frames have their numbers, in all and by tag") {
  const json frames = framed()["game_frames"];
  CHECK(frames["frames"] == 3);
  CHECK(frames["refused_marks"] == 4);
  CHECK(frames["marking_thread_changes"] == 5);
  CHECK(frames["lost_events"] == 6);
  CHECK(frames["tags"] == json::parse(R"([{"tag": null, "others": true},
      {"tag": "Game/Physics", "others": false}, {"tag": null, "others": false}])"));
  REQUIRE(frames["last"].size() == 2);
  json busy = frames["last"][0];
  CHECK(busy["tags"].size() == 2);
  CHECK(busy["tags"][0] == json::parse(R"({"tag": 1, "allocations": 100, "allocated_bytes": 5000,
      "deallocations": 20, "freed_bytes": 1000, "allocator_ns": 70000, "held_bytes": 4000,
      "peak_bytes": 4500})"));
  busy.erase("tags");
  CHECK(busy == json::parse(R"({"number": 2, "begin_ns": 1700000000010000000,
      "duration_ns": 10000000, "allocations": 100, "allocated_bytes": 5000, "deallocations": 20,
      "freed_bytes": 1000, "allocator_ns": 70000, "held_bytes": 9000, "peak_bytes": 9500})"));
  CHECK(frames["last"][1]["tags"][0]["tag"] == 0);
}

TEST_CASE("histograms and the worst frames are told by measure") {
  const json report = framed();
  const json& frames = report["game_frames"];
  REQUIRE(frames["histograms"].size() == 4);
  CHECK(frames["histograms"][3] == json::parse(R"({"measure": "duration_ns", "classes": [
      {"min": 1, "max": 1, "frames": 1}, {"min": 64, "max": 127, "frames": 1}]})"));
  REQUIRE(frames["worst"].size() == 3);
  CHECK(frames["worst"][0]["measure"] == "allocations");
  CHECK(frames["worst"][0]["slowest_call"] == nullptr);
  CHECK(frames["worst"][1]["measure"] == "allocated_bytes");
  CHECK(frames["worst"][1]["slowest_call"]["page_faults"] == nullptr);
  const json& worst = frames["worst"][2];
  CHECK(worst["measure"] == "duration_ns");
  CHECK(worst["number"] == 2);
  CHECK(worst["allocations"] == 100);
  json call = worst["slowest_call"];
  CHECK(addresses_of(report, call["frames"]) == json{0x1011, 0x3001});
  call.erase("frames");
  CHECK(call == json::parse(R"({"call": "reallocate", "cause": "wait", "duration_ns": 50000,
      "bytes": 3000, "tag": "Game/Physics", "page_faults": 3, "waits": 1, "preemptions": 2})"));
  REQUIRE(worst["stacks"].size() == 1);
  CHECK(addresses_of(report, worst["stacks"][0]["frames"]) == json{0x1011, 0x3001});
  CHECK(worst["stacks"][0]["tag"] == "Game/Physics");
  CHECK(worst["stacks"][0]["allocations"] == 90);
  CHECK(worst["other_stacks"] ==
        json{{"allocations", 10}, {"allocated_bytes", 100}, {"allocator_ns", 10000}});
}

TEST_CASE("budgets have their limits, and offences their stacks") {
  const json report = framed();
  const json& frames = report["game_frames"];
  REQUIRE(frames["budgets"].size() == 1);
  CHECK(frames["budgets"][0]["tag"] == "Game/Physics");
  REQUIRE(frames["budgets"][0]["limits"].size() == 3);
  CHECK(frames["budgets"][0]["limits"][0] == json::parse(R"({"kind": "held_bytes", "limit": 4000,
      "value": 4100, "most": 4500, "offences": 1})"));
  CHECK(frames["budgets"][0]["limits"][1]["limit"] == nullptr);
  json offence = frames["offences"][0];
  CHECK(addresses_of(report, offence["frames"]) == json{0x5011});
  offence.erase("frames");
  CHECK(offence == json::parse(R"({"tag": "Game/Physics", "kind": "held_bytes", "limit": 4000,
      "value": 4100, "frame": 2, "time_ns": 77})"));
  CHECK(frames["forgotten_offences"] == 8);
}
