// Android heap dumps, read by the viewer's rules, show the live blocks of the JSON report.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;
using Addresses = std::vector<std::uint64_t>;

/// Blocks and bytes by the addresses of the calls, leaf first.
using Live = std::map<Addresses, std::pair<std::uint64_t, std::uint64_t>>;

Json read(const FormatRun& run) {
  const Outcome outcome = alloctap::testing::run(
      {.arguments = {"/usr/bin/python3", ALLOCTAP_FORMATS "read_android_heap.py", run.path()}});
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  return Json::parse(outcome.out);
}

Live live_of(const Json& heap) {
  Live live;
  for (const Json& record : heap.at("records")) {
    CHECK(record.at("app") == true);
    auto& [blocks, bytes] = live[record.at("frames").get<Addresses>()];
    const auto count = record.at("count").get<std::uint64_t>();
    blocks += count;
    bytes += count * record.at("size").get<std::uint64_t>();
  }
  return live;
}

Live expected_live_of(const Json& report) {
  Live live;
  for (const Json& stack : report.at("stacks")) {
    if (stack.at("live_allocations") == 0) continue;
    Addresses calls;
    for (const Json& index : stack.at("frames")) {
      const Json& frame = report.at("frames").at(index.get<std::size_t>());
      calls.push_back(frame.at("address").get<std::uint64_t>() - 1);
    }
    if (calls.empty()) calls.push_back(0);
    auto& [blocks, bytes] = live[calls];
    blocks += stack.at("live_allocations").get<std::uint64_t>();
    bytes += stack.at("live_bytes").get<std::uint64_t>();
  }
  return live;
}

/// The viewer finds a frame's file by the map alone.
void check_map(const Json& heap, const Json& report) {
  for (const Json& frame : report.at("frames")) {
    if (frame.at("module").is_null()) continue;
    const auto call = frame.at("address").get<std::uint64_t>() - 1;
    std::string path;
    for (const Json& region : heap.at("map")) {
      if (call >= region.at("start") && call < region.at("end")) path = region.at("path");
    }
    const Json& module = report.at("modules").at(frame.at("module").get<std::size_t>());
    CHECK(path == module.at("path").get<std::string>());
  }
}

Json check_heap(const FormatRun& run) {
  const Json report = run.json().json();
  Json heap = read(run);
  CHECK(heap.at("total") == report.at("totals").at("live_bytes"));
  CHECK(live_of(heap) == expected_live_of(report));
  check_map(heap, report);
  return heap;
}

}  // namespace

TEST_CASE("an Android heap dump of a program whose calls are known has every block's size") {
  const Json heap = check_heap(FormatRun({ALLOCTAP_PROGRAMS "stacks"}, "android", "heap.txt"));
  for (std::uint64_t size = 1001; size <= 1009; ++size) {
    std::uint64_t blocks = 0;
    for (const Json& record : heap.at("records")) {
      if (record.at("size") == size) blocks += record.at("count").get<std::uint64_t>();
    }
    CAPTURE(size);
    CHECK(blocks == 1);
  }
}

TEST_CASE("an Android heap dump of a program that nobody wrote for it") {
  check_heap(
      FormatRun({"/usr/bin/python3", "-c",
                 "import json, decimal, os; x = [str(i) for i in range(20000)]; os._exit(0)"},
                "android", "heap.txt"));
}

TEST_CASE("blocks without a stack are in the total") {
  check_heap(FormatRun({ALLOCTAP_PROGRAMS "stacks"}, "android", "heap.txt", {"--min-size=1004"}));
}
