// valgrind's viewer of DHAT's data takes our file, and has the sums of the JSON report.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;

const std::string kViewer = "/usr/libexec/valgrind/dh_view.js";

/// What the viewer knows after it was shown the file by every metric.
Json viewed(const FormatRun& run) {
  const Outcome outcome = alloctap::testing::run(
      {.arguments = {"/usr/bin/node", ALLOCTAP_FORMATS "dhat_view.js", kViewer, run.path()}});
  CAPTURE(outcome.err);
  REQUIRE(outcome.status == 0);
  return Json::parse(outcome.out);
}

Json check_sums_of(const FormatRun& run) {
  const Json view = viewed(run);
  const Dump json = run.json();
  CHECK(view.at("totalBytes") == json.total("allocated_bytes"));
  CHECK(view.at("totalBlocks") == json.total("allocations"));
  const Json& peak = json.json().at("peak");
  if (peak.at("time_ns") != 0) {
    CHECK(view.at("peakBytes") == peak.at("live_bytes"));
    CHECK(view.at("endBytes") == json.total("live_bytes"));
    CHECK(view.at("endBlocks") == json.total("live_allocations"));
  }
  return view;
}

}  // namespace

TEST_CASE("DHAT's viewer shows a program whose calls are known") {
  const Json view = check_sums_of(FormatRun({ALLOCTAP_PROGRAMS "known_mix"}, "dhat", "dhat.json"));
  const std::string text = view.at("text");
  for (const char* part :
       {"known_mix\n", "100,000 blocks", ": wastes (known_mix.c:", ": main (known_mix.c:"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("DHAT's viewer shows a program that nobody wrote for it") {
  check_sums_of(FormatRun({"/usr/bin/python3", "-c",
                           "import json, decimal; x = [str(i) for i in range(20000)]; "
                           "import os; os._exit(0)"},
                          "dhat", "dhat.json"));
}

TEST_CASE("DHAT's viewer shows stacks of one frame each") {
  check_sums_of(FormatRun({ALLOCTAP_PROGRAMS "known_mix"}, "dhat", "dhat.json", {"--stack=none"}));
}
