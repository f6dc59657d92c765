#include "alloctap/dump/dhat_dump.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::DhatDump;
using nlohmann::json;

json written_dhat(const SampleReport& sample) {
  return json::parse(render(DhatDump{}, sample.report()));
}

/// The texts of a point's frames, leaf first.
std::vector<std::string> frames_of(const json& file, const json& point) {
  std::vector<std::string> frames;
  for (const json& index : point.at("fs")) {
    frames.push_back(file.at("ftbl").at(index.get<std::size_t>()));
  }
  return frames;
}

}  // namespace

TEST_CASE("DHAT's file has the keys that its viewer demands") {
  const json file = written_dhat(SampleReport());
  CHECK(file["dhatFileVersion"] == 2);
  CHECK(file["cmd"] == "game --level 3");
  CHECK(file["pid"] == 4711);
  CHECK(file["bklt"] == true);
  CHECK(file["bkacc"] == false);
  CHECK(file["tu"] == "us");
  CHECK(file["Mtu"] == "s");
  for (const char* key : {"mode", "verb", "tuth"}) CHECK(file.contains(key));
  CHECK(file["ftbl"][0] == "[root]");
}

TEST_CASE("DHAT's points are stacks in all, at the peak and at the end") {
  const json file = written_dhat(SampleReport());
  REQUIRE(file["pps"].size() == 4);
  CHECK(frames_of(file, file["pps"][0]) == std::vector<std::string>{"[stack unknown]"});
  const json deep = file["pps"][1];
  CHECK(frames_of(file, deep) == std::vector<std::string>{"0x1010: engine::load(char const*)",
                                                          "0x2020: engine::parse", "0x3030: main"});
  CHECK(deep["tb"] == 65536);
  CHECK(deep["tbk"] == 1000);
  CHECK(deep["gb"] == 1 << 20);
  CHECK(deep["gbk"] == 20);
  CHECK(deep["eb"] == 40960);
  CHECK(deep["ebk"] == 10);
  CHECK(deep["mb"] == 1 << 20);
  CHECK(deep["mbk"] == 20);
  CHECK_FALSE(deep.contains("tl"));
  CHECK_FALSE(deep.contains("rb"));
  CHECK(file["pps"][3]["gb"] == 0);
}

TEST_CASE("DHAT's times count from the start of the timeline") {
  const json file = written_dhat(SampleReport());
  CHECK(file["tg"] == 30'000'000);
  CHECK(file["te"] == 123'456);
  SampleReport sample;
  sample.snapshot.timeline.clear();
  CHECK(written_dhat(sample)["te"] == 0);
}

TEST_CASE("DHAT's file without a peak has the numbers in all alone") {
  SampleReport sample;
  sample.snapshot.peak = {};
  const json file = written_dhat(sample);
  CHECK(file["bklt"] == false);
  CHECK_FALSE(file.contains("tg"));
  CHECK(file["pps"][1] == json{{"tb", 65536}, {"tbk", 1000}, {"fs", file["pps"][1]["fs"]}});
}

TEST_CASE("a call has a frame for each function that was inlined there") {
  SampleReport sample;
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::token", "src/token.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "src/parse.cpp", 0},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "", 0}};
  const json file = written_dhat(sample);
  CHECK(frames_of(file, file["pps"][2]) ==
        std::vector<std::string>{"0x2028: engine::token (token.hpp:7)",
                                 "0x2028: engine::parse (parse.cpp)", "0x3030: main"});
}

TEST_CASE("a frame without a file has its module") {
  SampleReport sample;
  sample.modules = alloctap::ModuleTable::read();
  static int place;
  const auto address = reinterpret_cast<std::uintptr_t>(&place);
  sample.add({sample.intern({address}), {1, 100, 0}, 1, 100});
  const json file = written_dhat(sample);
  const std::string frame = frames_of(file, file["pps"][4]).at(0);
  CHECK(frame.find(" (in ") != frame.npos);
  CHECK(frame.ends_with(")"));
}

TEST_CASE("no two points of DHAT's file have the same frames") {
  SampleReport sample;
  sample.add({alloctap::kStackNotTaken, {5, 500, 0}, 1, 100});
  const json file = written_dhat(sample);
  std::set<json> seen;
  for (const json& point : file["pps"]) CHECK(seen.insert(point["fs"]).second);
  CHECK(frames_of(file, file["pps"][4]) == std::vector<std::string>{"[size outside the range]"});
}

TEST_CASE("DHAT's file says how its numbers came about") {
  const json file = written_dhat(SampleReport());
  CHECK(file["alloctap"]["account"]["events"] == 2471158);
  CHECK(file["alloctap"]["totals"]["live_bytes"] == 1089538);
}
