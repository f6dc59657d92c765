// A trace is what importers take, and ends with the numbers of the JSON report.
#include <doctest/doctest.h>

#include <string>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;

Json check_trace(const FormatRun& run) {
  const Outcome outcome = alloctap::testing::run(
      {.arguments = {"/usr/bin/python3", ALLOCTAP_FORMATS "chrome_trace_check.py", run.path()}});
  CAPTURE(outcome.err);
  REQUIRE(outcome.status == 0);
  const Json trace = Json::parse(outcome.out);
  const Dump json = run.json();
  CHECK(trace.at("last").at("live bytes") == json.total("live_bytes"));
  CHECK(trace.at("last").at("live blocks") == json.total("live_allocations"));
  for (const Json& point : json.json().at("timeline")) {
    CHECK(trace.at("last").contains("resident bytes"));
    CHECK(point.at("time_ns") <= json.json().at("program").at("time_ns"));
  }
  return trace;
}

}  // namespace

TEST_CASE("a trace of a program whose calls are known") {
  const Json trace =
      check_trace(FormatRun({ALLOCTAP_PROGRAMS "known_mix"}, "chrome-trace", "trace.json"));
  CHECK(trace.at("names").at("process_name") == "known_mix");
  CHECK(trace.at("names").at("thread_name") == "known_mix");
}

TEST_CASE("a trace of a program that nobody wrote for it") {
  check_trace(FormatRun(
      {"/usr/bin/python3", "-c", "x = [str(i) for i in range(20000)]; import os; os._exit(0)"},
      "chrome-trace", "trace.json"));
}
