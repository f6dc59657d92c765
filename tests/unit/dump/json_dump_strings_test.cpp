#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "alloctap/dump/json_dump.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using alloctap::JsonDump;
using alloctap::Report;
using alloctap::testing::render;
using alloctap::testing::SampleReport;
using nlohmann::json;

json parsed_strings(const Report& report) { return json::parse(render(JsonDump{}, report)); }

}  // namespace

TEST_CASE("names and paths may hold anything") {
  SampleReport sample;
  std::string nasty = "\"\\/\b\f\n\r\t\x01\x1F\x7F</script>\xC3\xBC\xF0\x9F\x98\x80";
  nasty += '\0';
  sample.program.executable = nasty;
  sample.names[0].name = nasty;
  sample.program.command = "a\xFF\xFE";
  const json report = parsed_strings(sample.report());
  CHECK(report["program"]["executable"] == nasty);
  CHECK(report["frames"][0]["function"] == nasty);
  CHECK(report["program"]["arguments"] == json{"a\xEF\xBF\xBD\xEF\xBF\xBD"});
}

TEST_CASE("arguments may be empty, first, last and between") {
  SampleReport sample;
  sample.program.command = {"\0a\0\0b\0", 6};
  CHECK(parsed_strings(sample.report())["program"]["arguments"] == json{"", "a", "", "b", ""});
  sample.program.command = "alone";
  CHECK(parsed_strings(sample.report())["program"]["arguments"] == json::array({"alone"}));
}

TEST_CASE("very long texts are cut, between characters") {
  SampleReport sample;
  std::string path = "x";
  while (path.size() < 100'000) path += "\xE2\x82\xAC";
  sample.program.executable = path;
  const auto shown = parsed_strings(sample.report())["program"]["executable"].get<std::string>();
  CHECK(shown.size() > 16'000);
  CHECK(shown.size() < 17'000);
}

TEST_CASE("a report is one line") {
  SampleReport sample;
  const std::string text = render(JsonDump{}, sample.report());
  CHECK(text.find('\n') == text.size() - 1);
}
