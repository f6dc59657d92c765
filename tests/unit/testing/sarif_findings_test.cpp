#include "alloctap/testing/sarif_findings.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "alloctap/dump/impl/outputs.hpp"

namespace {

using namespace alloctap::testing;
using nlohmann::json;

json sarif_of(const Findings& findings) {
  alloctap::MemoryOutput output;
  CHECK(write_findings(findings, SarifFindings{.source_root = "/home"}, output).ok());
  return json::parse(output.text());
}

Finding sample_leak() {
  return {.level = FindingLevel::kWarning,
          .message = "8 bytes in 1 block leaked",
          .test_suite = "io",
          .test_case = "writes",
          .stacks = {{.title = "allocated by",
                      .frames = {{.function = "f", .module = "lib.so"},
                                 {.function = "main", .file = "/home/m n.cpp", .line = 9}}}},
          .count = 1,
          .bytes = 8};
}

}  // namespace

TEST_CASE("SARIF has a rule for each that was broken, and a result for each finding") {
  Findings findings;
  findings.all = {sample_leak(), {.kind = FindingKind::kMisuse, .rule = "double_free"}};
  findings.all.push_back(sample_leak());
  const json log = sarif_of(findings);
  CHECK(log["version"] == "2.1.0");
  REQUIRE(log["runs"].size() == 1);
  const json& driver = log["runs"][0]["tool"]["driver"];
  CHECK(driver["name"] == "alloctap");
  REQUIRE(driver["rules"].size() == 2);
  CHECK(driver["rules"][0]["id"] == "leak");
  CHECK(driver["rules"][1]["id"] == "double_free");
  CHECK(driver["rules"][1]["shortDescription"]["text"].get<std::string>().starts_with("A block"));
  const json& results = log["runs"][0]["results"];
  REQUIRE(results.size() == 3);
  CHECK(results[0]["ruleIndex"] == 0);
  CHECK(results[1]["ruleIndex"] == 1);
  CHECK(results[2]["ruleIndex"] == 0);
  CHECK(results[0]["level"] == "warning");
  CHECK(results[1]["level"] == "error");
  CHECK(results[0]["message"]["text"] == "8 bytes in 1 block leaked");
  CHECK(results[1]["locations"].empty());
  CHECK_FALSE(results[1].contains("stacks"));
  CHECK(results[0]["properties"] ==
        json({{"count", 1}, {"bytes", 8}, {"testSuite", "io"}, {"testCase", "writes"}}));
}

TEST_CASE("a result of SARIF has its place and its stacks, and the first as a flow") {
  Findings findings;
  findings.all = {sample_leak()};
  const json result = sarif_of(findings)["runs"][0]["results"][0];
  const json place =
      json::parse(R"({"artifactLocation": {"uri": "m%20n.cpp"}, "region": {"startLine": 9}})");
  REQUIRE(result["locations"].size() == 1);
  CHECK(result["locations"][0]["physicalLocation"] == place);
  const json& stack = result["stacks"][0];
  CHECK(stack["message"]["text"] == "allocated by");
  CHECK(stack["frames"][0] == json::parse(R"({"module": "lib.so", "location": {
      "logicalLocations": [{"fullyQualifiedName": "f", "kind": "function"}],
      "message": {"text": "f"}}})"));
  CHECK(stack["frames"][1]["location"]["physicalLocation"] == place);
  const json& flow = result["codeFlows"][0]["threadFlows"][0]["locations"];
  REQUIRE(flow.size() == 2);
  CHECK(flow[0]["location"] == stack["frames"][1]["location"]);
  CHECK(flow[1]["location"] == stack["frames"][0]["location"]);
}

TEST_CASE("a result is known again by its functions, not by its lines") {
  Findings findings;
  findings.all = {sample_leak(), sample_leak(), sample_leak()};
  findings.all[1].stacks[0].frames[1].line = 10;
  findings.all[2].stacks[0].frames[1].function = "other";
  const json results = sarif_of(findings)["runs"][0]["results"];
  CHECK(results[0]["partialFingerprints"] == results[1]["partialFingerprints"]);
  CHECK(results[0]["partialFingerprints"] != results[2]["partialFingerprints"]);
  CHECK(sarif_of({})["runs"][0]["results"] == json::array());
}
