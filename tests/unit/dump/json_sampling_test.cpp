#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "alloctap/dump/json_dump.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::JsonDump;
using nlohmann::json;

json report_of(const SampleReport& sample) {
  return json::parse(render(JsonDump{}, sample.report()));
}

}  // namespace

TEST_CASE("a report of every allocation says that it is exact") {
  const SampleReport sample;
  CHECK(report_of(sample)["sampling"] == json::parse(R"({"policy": "every-allocation",
      "exact": true, "mean_bytes": null, "min_bytes": null, "max_bytes": null,
      "live_samples": 13, "live_bytes_margin": 0})"));
}

TEST_CASE("a sampled report says how, and how far its estimate of what is live reaches") {
  SampleReport sample;
  sample.snapshot.sampling = {.policy = {.name = "poisson-by-bytes",
                                         .mean_bytes = 524288,
                                         .min_bytes = 16,
                                         .max_bytes = 1024},
                              .exact = false,
                              .live_samples = 1000,
                              .live_bytes_margin = 9 << 20};
  sample.add({alloctap::kStackNotTaken, {5, 500, 0}, 1, 100});
  const json report = report_of(sample);
  CHECK(report["sampling"] == json::parse(R"({"policy": "poisson-by-bytes", "exact": false,
      "mean_bytes": 524288, "min_bytes": 16, "max_bytes": 1024, "live_samples": 1000,
      "live_bytes_margin": 9437184})"));
  CHECK(report["stacks"].back()["outside_size_range"] == true);
  CHECK(report["stacks"].back()["frames"] == json::array());
}
