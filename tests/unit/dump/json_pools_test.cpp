#include <doctest/doctest.h>

#include <cstddef>
#include <nlohmann/json.hpp>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/json_owners.hpp"
#include "tests/support/pooled_report.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

nlohmann::json parsed(const SampleReport& sample) {
  return nlohmann::json::parse(render(JsonDump{}, sample.report()));
}

}  // namespace

TEST_CASE("the JSON has all pools, and all their stacks") {
  PooledReport sample;
  sample.snapshot.pools.wrong_pool_frees = 7;
  const nlohmann::json document = parsed(sample);
  const auto& pools = document["pools"];
  CHECK(pools["unknown_frees"] == 0);
  CHECK(pools["wrong_pool_frees"] == 7);
  REQUIRE(pools["pools"].size() == 2);
  CHECK(pools["pools"][0]["destroyed"] == true);
  const auto& arena = pools["pools"][1];
  CHECK(arena["name"] == "arena");
  CHECK(arena["destroyed"] == false);
  CHECK(arena["allocations"] == 13);
  CHECK(arena["allocated_bytes"] == 1300);
  CHECK(arena["live_allocations"] == 5);
  CHECK(arena["live_bytes"] == 500);
  CHECK(arena["peak_live_bytes"] == 700);
  CHECK(arena["overhead_bytes"] == 8192);
  REQUIRE(arena["stacks"].size() == 2);
  const auto& stack = arena["stacks"][0];
  CHECK(stack["tag"] == "Game/Physics");
  CHECK(stack["live_bytes"] == 200);
  CHECK(document["frames"][stack["frames"][0].get<std::size_t>()]["function"] == "main");
}

TEST_CASE("the JSON says what cannot be told") {
  PooledReport sample;
  sample.snapshot.pools.unknown_frees.reset();
  CHECK(parsed(sample)["pools"]["unknown_frees"].is_null());
  CHECK(parsed(TaggedReport())["pools"].is_null());
}
