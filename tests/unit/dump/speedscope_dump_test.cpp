#include "alloctap/dump/speedscope_dump.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/sample_report.hpp"

namespace {

using alloctap::Report;
using alloctap::SpeedscopeDump;
using alloctap::testing::render;
using alloctap::testing::SampleReport;
using nlohmann::json;

json parsed_speedscope(const Report& report) {
  return json::parse(render(SpeedscopeDump{}, report));
}

}  // namespace

TEST_CASE("four profiles share one table of functions, live bytes first") {
  const SampleReport sample;
  const json file = parsed_speedscope(sample.report());
  CHECK(
      file["shared"]["frames"] ==
      json::parse(R"json([{"name": "[stack unknown]"}, {"name": "main"}, {"name": "engine::parse"},
                        {"name": "engine::load(char const*)"
}, {"name": "0x4040"}])json"));
  CHECK(file["activeProfileIndex"] == 0);
  CHECK(file["name"] == "/opt/game/bin/game");
  CHECK(file["profiles"] == json::parse(R"json([
      {"type": "sampled", "name": "live bytes", "unit": "bytes", "startValue": 0,
       "endValue": 1089538, "samples": [[0], [1, 2, 3], [1, 2]], "weights": [3, 40960, 1048575]},
      {"type": "sampled", "name": "live allocations", "unit": "none", "startValue": 0,
       "endValue": 13, "samples": [[0], [1, 2, 3], [1, 2]], "weights": [2, 10, 1]},
      {"type": "sampled", "name": "allocated bytes", "unit": "bytes", "startValue": 0,
       "endValue": 5308585, "samples": [[0], [1, 2, 3], [1, 2], [4]],
       "weights": [70, 65536, 5242880, 99]},
      {"type": "sampled", "name": "allocations", "unit": "none", "startValue": 0,
       "endValue": 1235579, "samples": [[0], [1, 2, 3], [1, 2], [4]],
       "weights": [7, 1000, 5, 1234567]}])json"));
}

TEST_CASE("inlined functions are frames, and a function has its file") {
  SampleReport sample;
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::next", "next.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "parse.cpp", 42},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "", 0}};
  const json file = parsed_speedscope(sample.report());
  const json& frames = file["shared"]["frames"];
  const json& stack = file["profiles"][0]["samples"].back();
  REQUIRE(stack.size() == 3);
  CHECK(frames[stack[0].get<std::size_t>()] == json{{"name", "main"}});
  CHECK(frames[stack[1].get<std::size_t>()] ==
        json{{"name", "engine::parse"}, {"file", "parse.cpp"}});
  CHECK(frames[stack[2].get<std::size_t>()] ==
        json{{"name", "engine::next"}, {"file", "next.hpp"}});
}

TEST_CASE("the account is in a key of its own") {
  const SampleReport sample;
  const std::string account = parsed_speedscope(sample.report())["alloctap"]["account"].dump();
  for (const char* part : {"/opt/game/bin/game", "4711", "1 dropped", "what nobody sees"}) {
    CHECK(account.find(part) != account.npos);
  }
}

TEST_CASE("a report of nothing has four empty profiles") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  const json file = parsed_speedscope(sample.report());
  REQUIRE(file["profiles"].size() == 4);
  CHECK(file["shared"]["frames"].empty());
  for (const json& profile : file["profiles"]) {
    CHECK(profile["samples"].empty());
    CHECK(profile["weights"].empty());
    CHECK(profile["endValue"] == 0);
  }
}
