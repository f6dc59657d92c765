#include "alloctap/testing/junit_findings.hpp"

#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/impl/outputs.hpp"

namespace {

using namespace alloctap::testing;

/// 2024-02-29T23:59:58 UTC.
constexpr std::int64_t kLeapDay = 1'709'251'198'000'000'000;

std::string junit_of(const Findings& findings) {
  alloctap::MemoryOutput output;
  CHECK(write_findings(findings, JunitFindings{.time_ns = kLeapDay}, output).ok());
  return std::string(output.text());
}

}  // namespace

TEST_CASE("each test has one result, with all that was found in it") {
  Findings findings;
  findings.tests = {{"io", "reads", 1250}, {"io", "writes", 7}, {"net", "sends", 0}};
  const FrameText load{.function = "load<int>", .module = "game", .file = "a.cpp", .line = 7};
  findings.all.push_back({.message = "8 bytes in 1 block leaked",
                          .test_suite = "io",
                          .test_case = "writes",
                          .file = "b.cpp",
                          .line = 3,
                          .stacks = {{.title = "allocated by", .frames = {load}}}});
  findings.all.push_back({.kind = FindingKind::kMisuse,
                          .rule = "double_free",
                          .message = "twice",
                          .test_suite = "io",
                          .test_case = "writes"});
  findings.all.push_back({.kind = FindingKind::kBudget});
  const std::string suite = " timestamp=\"2024-02-29T23:59:58\" hostname=\"localhost\" tests=\"";
  const std::string end = "    <system-out/>\n    <system-err/>\n  </testsuite>\n";
  CHECK(
      junit_of(findings) ==
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"io\" package=\"\" id=\"0\"" +
          suite +
          "2\" failures=\"1\" errors=\"0\" time=\"1.257\">\n    <properties/>\n"
          "    <testcase name=\"reads\" classname=\"io\" time=\"1.250\"/>\n"
          "    <testcase name=\"writes\" classname=\"io\" time=\"0.007\">\n"
          "      <failure type=\"leak\" message=\"2 findings: 8 bytes in 1 block leaked\">"
          "leak: 8 bytes in 1 block leaked&#10;b.cpp:3&#10;allocated by&#10;"
          "  load&lt;int&gt;   a.cpp:7&#10;double_free: twice&#10;</failure>\n"
          "    </testcase>\n" +
          end + "  <testsuite name=\"net\" package=\"\" id=\"1\"" + suite +
          "1\" failures=\"0\" errors=\"0\" time=\"0.000\">\n    <properties/>\n"
          "    <testcase name=\"sends\" classname=\"net\" time=\"0.000\"/>\n" +
          end + "  <testsuite name=\"alloctap\" package=\"\" id=\"2\"" + suite +
          "1\" failures=\"1\" errors=\"0\" time=\"0.000\">\n    <properties/>\n"
          "    <testcase name=\"budget\" classname=\"alloctap\" time=\"0.000\">\n"
          "      <failure type=\"budget\" message=\"A part of the program holds more memory than "
          "it may.\">budget: A part of the program holds more memory than it may.&#10;</failure>\n"
          "    </testcase>\n" +
          end + "</testsuites>\n");
}

TEST_CASE("no tests and no findings are a report too") {
  CHECK(junit_of({}) ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n</testsuites>\n");
}

TEST_CASE("XML gets what it can hold") {
  CHECK(xml_text("a<b> & \"c\"'\t\n\r") == "a&lt;b&gt; &amp; &quot;c&quot;'&#9;&#10;&#13;");
  CHECK(xml_text(std::string_view("\0\x1b[1m]]>", 8)) == "[1m]]&gt;");
  CHECK(xml_text("\xC3\xA4 \xFF \xEF\xBF\xBE\xEF\xBF\xBF") ==
        "\xC3\xA4 \xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD");
}
