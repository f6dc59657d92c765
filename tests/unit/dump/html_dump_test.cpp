#include "alloctap/dump/html_dump.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/sample_report.hpp"

namespace {

using alloctap::HtmlDump;
using alloctap::JsonDump;
using alloctap::StackSummary;
using alloctap::testing::render;
using alloctap::testing::SampleReport;
using nlohmann::json;

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// What stands in the script element with that id.
std::string script(const std::string& page, const std::string& id) {
  const std::string start = R"(<script type="application/json" id=")" + id + R"(">)";
  REQUIRE(count(page, start) == 1);
  const std::size_t begin = page.find(start) + start.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

}  // namespace

TEST_CASE("the page holds the report that JsonDump writes, and nothing to compare it with") {
  const SampleReport sample;
  const std::string page = render(HtmlDump{}, sample.report());
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(json::parse(script(page, "report")) == json::parse(render(JsonDump{}, sample.report())));
  CHECK(script(page, "base").empty());
}

TEST_CASE("names in the report cannot leave their script element") {
  SampleReport sample;
  const std::string usual = render(HtmlDump{}, sample.report());
  sample.program.executable = "</script><script>alert(1)</script><!--";
  sample.names[0].name = "operator</ <!--<script>";
  const std::string page = render(HtmlDump{}, sample.report());
  for (const char* part : {"</script", "<!--", "alert(1)</"}) {
    CAPTURE(part);
    CHECK(count(page, part) == count(usual, part));
  }
  const json report = json::parse(script(page, "report"));
  CHECK(report["program"]["executable"] == sample.program.executable);
  CHECK(report["frames"][0]["function"] == "operator</ <!--<script>");
}

TEST_CASE("a difference has both reports") {
  SampleReport before;
  SampleReport after;
  after.add(StackSummary{after.intern({0x5011}), {1, 64, 0}, 1, 64});
  const alloctap::Report report = after.report();
  const std::string page = render(HtmlDump{.base = &before.snapshot}, report);
  CHECK(json::parse(script(page, "report")) == json::parse(render(JsonDump{}, report)));
  CHECK(json::parse(script(page, "base")) == json::parse(render(JsonDump{}, before.report())));
}

TEST_CASE("the page asks no other machine for anything") {
  SampleReport sample;
  const std::string page = render(HtmlDump{}, sample.report());
  for (const char* part : {"src=", "@import", "url(", "fetch(", "XMLHttpRequest"}) {
    CAPTURE(part);
    CHECK(count(page, part) == 0);
  }
  // The icon, so that browsers ask for none.
  CHECK(count(page, "href=") == count(page, R"(href="data:,")"));
}
