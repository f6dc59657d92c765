#include "alloctap/testing/github_findings.hpp"

#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/impl/outputs.hpp"

namespace {

using namespace alloctap::testing;

std::string annotations(const Findings& findings, std::string_view root) {
  alloctap::MemoryOutput output;
  CHECK(write_findings(findings, GithubFindings{.source_root = root}, output).ok());
  return std::string(output.text());
}

}  // namespace

TEST_CASE("an annotation is one line, whatever is in it") {
  Findings findings;
  findings.all.push_back({.message = "100% lost\r\n::set-output name=x::y",
                          .test_suite = "a,b",
                          .test_case = "c:d",
                          .file = "/home/src/x,y.cpp",
                          .line = 12,
                          .stacks = {{.title = "by", .frames = {{.function = "f", .file = "g"}}}}});
  findings.all.push_back({.level = FindingLevel::kWarning, .file = "/elsewhere/x.cpp"});
  findings.all.push_back({.kind = FindingKind::kGrowth, .level = FindingLevel::kNote});
  CHECK(annotations(findings, "/home") ==
        "::error file=src/x%2Cy.cpp,line=12,title=leak%3A a%2Cb / c%3Ad::"
        "100%25 lost%0D%0A::set-output name=x::y%0Aby%0A  f   g\n"
        "::warning file=/elsewhere/x.cpp,title=leak::Memory is left that nobody gives back.\n"
        "::notice title=growth::Memory grows each time the same is done.\n");
}

TEST_CASE("a finding is shown in the innermost frame below the root of the source") {
  const Finding finding{.stacks = {{.title = "",
                                    .frames = {{.function = "nameless"},
                                               {.function = "void std::vector<int>::push_back(int)",
                                                .file = "/usr/include/vector",
                                                .line = 3},
                                               {.file = "/home/a.cpp", .line = 4},
                                               {.file = "/home/b.cpp", .line = 5}}}}};
  CHECK(place_of(finding, "/home/").file == "a.cpp");
  CHECK(place_of(finding, "/home").line == 4);
  CHECK(place_of(finding, "").file == "/home/a.cpp");
  CHECK(place_of(finding, "/hom").file == "/home/a.cpp");
  Finding library = finding;
  library.stacks[0].frames.resize(2);
  CHECK(place_of(library, "/home").file == "/usr/include/vector");
  CHECK(place_of({}, "/home").file.empty());
  CHECK(path_below("C:\\game\\src\\a.cpp", "C:\\game") == "src/a.cpp");
  CHECK(path_below("/home", "/home") == "/home");
}

TEST_CASE("paths are references by URI") {
  CHECK(uri_of("src/a b#1.cpp") == "src/a%20b%231.cpp");
  CHECK(uri_of("/w/\xC3\xA4:.cpp") == "file:///w/%C3%A4%3A.cpp");
  CHECK(uri_of("C:/game/a.cpp") == "file:///C:/game/a.cpp");
}
