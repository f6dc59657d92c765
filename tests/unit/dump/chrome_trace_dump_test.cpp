#include "alloctap/dump/chrome_trace_dump.hpp"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/framed_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::ChromeTraceDump;
using nlohmann::json;

json written_trace(const SampleReport& sample) {
  return json::parse(render(ChromeTraceDump{}, sample.report()));
}

/// (ts, value) of a counter.
using Values = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Values values_of(const json& file, const std::string& counter) {
  Values values;
  for (const json& event : file["traceEvents"]) {
    if (event["ph"] == "C" && event["name"] == counter) {
      values.emplace_back(event["ts"], event["args"]["value"]);
    }
  }
  return values;
}

std::vector<json> events_of(const json& file, const std::string& phase) {
  std::vector<json> events;
  for (const json& event : file["traceEvents"]) {
    if (event["ph"] == phase) events.push_back(event);
  }
  return events;
}

/// A snapshot that was taken two seconds after the last point.
SampleReport later() {
  SampleReport sample;
  sample.snapshot.time_ns = sample.snapshot.timeline[2].time_ns + 2'000'000'000;
  return sample;
}

constexpr std::uint64_t kHalf = 30'000'000;
constexpr std::uint64_t kMinute = 2 * kHalf;
constexpr std::uint64_t kMebibyte = 1 << 20;

}  // namespace

TEST_CASE("a trace has what is live at every point of the timeline, and at the end") {
  const json file = written_trace(later());
  CHECK(values_of(file, "live bytes") == Values{{0, kMebibyte},
                                                {kHalf, 3 * kMebibyte},
                                                {kMinute, kMebibyte},
                                                {kMinute + 2'000'000, 1089538}});
  CHECK(values_of(file, "live blocks") ==
        Values{{0, 0}, {kHalf, 10}, {kMinute, 20}, {kMinute + 2'000'000, 13}});
  CHECK(values_of(file, "resident bytes") ==
        Values{{0, 8 * kMebibyte}, {kHalf, 8 * kMebibyte}, {kMinute, 8 * kMebibyte}});
}

TEST_CASE("a rate stands where its time starts") {
  const json file = written_trace(later());
  CHECK(values_of(file, "allocations per second") == Values{{0, 3333}, {kHalf, 3333}});
  CHECK(values_of(file, "allocated bytes per second") == Values{{0, 66666}, {kHalf, 66666}});
}

TEST_CASE("markers and the peak are instants") {
  const std::vector<json> instants = events_of(written_trace(later()), "i");
  REQUIRE(instants.size() == 2);
  CHECK(instants[0] == json{{"ph", "i"},
                            {"name", "level <1> loaded"},
                            {"pid", 4711},
                            {"tid", 4711},
                            {"s", "g"},
                            {"ts", kHalf / 2}});
  CHECK(instants[1]["name"] == "peak");
  CHECK(instants[1]["ts"] == kHalf);
  CHECK(instants[1]["args"]["live_bytes"] == 3 * kMebibyte);
}

TEST_CASE("the process and the threads that live have their names") {
  const std::vector<json> names = events_of(written_trace(later()), "M");
  REQUIRE(names.size() == 2);
  CHECK(names[0]["name"] == "process_name");
  CHECK(names[0]["args"]["name"] == "game");
  CHECK(names[1]["name"] == "thread_name");
  CHECK(names[1]["tid"] == 4711);
  CHECK(names[1]["args"]["name"] == "game");
}

TEST_CASE("times never go back, also where the snapshot is older than its points") {
  const json file = written_trace(SampleReport());
  std::uint64_t time = 0;
  for (const json& event : file["traceEvents"]) {
    if (!event.contains("ts")) continue;
    CHECK(event["ts"] >= time);
    time = event["ts"];
  }
  CHECK(time == kMinute);
}

TEST_CASE("a trace without a past has the present") {
  SampleReport sample;
  sample.snapshot.timeline.clear();
  sample.snapshot.markers.clear();
  sample.snapshot.peak = {};
  const json file = written_trace(sample);
  CHECK(values_of(file, "live bytes") == Values{{0, 1089538}});
  CHECK(events_of(file, "i").empty());
  CHECK(file["otherData"]["account"]["dropped"] == 1);
}

TEST_CASE("two points at one time have no rate between them") {
  SampleReport sample = later();
  sample.snapshot.timeline[1].time_ns = sample.snapshot.timeline[0].time_ns;
  CHECK(values_of(written_trace(sample), "allocations per second") == Values{{0, 1666}});
}

TEST_CASE("frames are spans, with what they allocated and what their tags held at their end") {
  const FramedReport sample;
  const json file = json::parse(render(ChromeTraceDump{}, sample.report()));
  constexpr std::uint64_t kFrame = 10'000;
  const std::vector<json> frames = events_of(file, "X");
  REQUIRE(frames.size() == 2);
  CHECK(frames[0] == json{{"ph", "X"},
                          {"name", "frame 2"},
                          {"pid", 4711},
                          {"tid", 4711},
                          {"ts", kFrame},
                          {"dur", kFrame},
                          {"args",
                           {{"allocations", 100},
                            {"allocated_bytes", 5000},
                            {"allocator_us", 70},
                            {"peak_bytes", 9500}}}});
  CHECK(frames[1]["ts"] == 2 * kFrame);
  CHECK(values_of(file, "allocations in a frame") == Values{{kFrame, 100}, {2 * kFrame, 1}});
  CHECK(values_of(file, "allocated bytes in a frame") == Values{{kFrame, 5000}, {2 * kFrame, 8}});
  CHECK(values_of(file, "held by Game/Physics") == Values{{kFrame, 4000}});
  CHECK(values_of(file, "held by no tag") == Values{{kFrame, 5000}});
}
