#include "alloctap/dump/json_pools.hpp"

#include <doctest/doctest.h>
#include <rapidjson/document.h>

#include <cstdint>
#include <string>

#include "alloctap/dump/json_dump.hpp"
#include "tests/support/pooled_report.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

rapidjson::Document parsed(const SampleReport& sample) {
  rapidjson::Document document;
  document.Parse(render(JsonDump{}, sample.report()).c_str());
  REQUIRE_FALSE(document.HasParseError());
  return document;
}

}  // namespace

TEST_CASE("the JSON has all pools, and all their stacks") {
  PooledReport sample;
  sample.snapshot.pools.wrong_pool_frees = 7;
  const rapidjson::Document document = parsed(sample);
  const auto& pools = document["pools"];
  CHECK(pools["unknown_frees"].GetUint64() == 0);
  CHECK(pools["wrong_pool_frees"].GetUint64() == 7);
  REQUIRE(pools["pools"].Size() == 2);
  CHECK(pools["pools"][0]["destroyed"].GetBool());
  const auto& arena = pools["pools"][1];
  CHECK(arena["name"] == "arena");
  CHECK_FALSE(arena["destroyed"].GetBool());
  CHECK(arena["allocations"].GetUint64() == 13);
  CHECK(arena["allocated_bytes"].GetUint64() == 1300);
  CHECK(arena["live_allocations"].GetUint64() == 5);
  CHECK(arena["live_bytes"].GetUint64() == 500);
  CHECK(arena["peak_live_bytes"].GetUint64() == 700);
  CHECK(arena["overhead_bytes"].GetUint64() == 8192);
  REQUIRE(arena["stacks"].Size() == 2);
  const auto& stack = arena["stacks"][0];
  CHECK(stack["tag"] == "Game/Physics");
  CHECK(stack["live_bytes"].GetUint64() == 200);
  CHECK(document["frames"][stack["frames"][0].GetUint()]["function"] == "main");
}

TEST_CASE("the JSON says what cannot be told") {
  PooledReport sample;
  sample.snapshot.pools.unknown_frees.reset();
  CHECK(parsed(sample)["pools"]["unknown_frees"].IsNull());
  CHECK(parsed(TaggedReport())["pools"].IsNull());
}
