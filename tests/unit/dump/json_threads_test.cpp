#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/json_owners.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap::testing;
using nlohmann::json;

}  // namespace

TEST_CASE("threads are listed, those that ended too") {
  const SampleReport sample;
  CHECK(json::parse(render(alloctap::JsonDump{}, sample.report()))["threads"] == json::parse(R"([
      {"id": 4711, "name": "game", "alive": true, "threads": 1, "allocations": 6,
       "allocated_bytes": 5242950, "temporary_allocations": 1, "deallocations": 2,
       "net_bytes": 1100000, "live_allocations": null, "live_bytes": null},
      {"id": 4712, "name": null, "alive": false, "threads": 1, "allocations": 1235573,
       "allocated_bytes": 65635, "temporary_allocations": 1234817, "deallocations": 1235564,
       "net_bytes": -10462, "live_allocations": null, "live_bytes": null}])"));
}
