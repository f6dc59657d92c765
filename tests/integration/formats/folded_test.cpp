// Folded stacks, read as flamegraph.pl reads them, show the numbers of the JSON report.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "alloctap/implement.hpp"
#include "tests/integration/formats/format_run.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap::testing;

using Folded = std::map<std::string, std::uint64_t>;

/// As flamegraph.pl: greedy text, white space, digits; equal stacks add up; nothing is ignored.
Folded read_folded(const std::string& text) {
  static const std::regex line_form(R"(^(.*)\s+(\d+)$)");
  Folded folded;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    CAPTURE(line);
    REQUIRE(std::regex_match(line, parts, line_form));
    folded[parts[1]] += std::stoull(parts[2]);
  }
  return folded;
}

Folded expected_of(const Json& report) {
  Folded folded;
  for (const Json& stack : report.at("stacks")) {
    const auto bytes = stack.at("live_bytes").get<std::uint64_t>();
    if (bytes == 0) continue;
    std::vector<std::string> labels = labels_of(report, stack);
    std::string line;
    for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
      std::replace(label->begin(), label->end(), ';', ':');
      line += (line.empty() ? "" : ";") + *label;
    }
    folded[line] += bytes;
  }
  return folded;
}

constexpr char kFlameGraph[] = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";

/// The titles of the frames that flamegraph.pl draws, "name (BYTES bytes, SHARE%)"; its root is
/// "all".
std::vector<std::string> titles_of(const std::string& path) {
  const Outcome outcome =
      run({.arguments = {"/usr/bin/perl", kFlameGraph, "--countname=bytes", "--minwidth=0", path}});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  CHECK(outcome.out.starts_with("<?xml"));
  CHECK(outcome.out.ends_with("</svg>\n"));
  static const std::regex title_form("<title>([^<]*)</title>");
  std::vector<std::string> titles;
  for (std::sregex_iterator title(outcome.out.begin(), outcome.out.end(), title_form), end;
       title != end; ++title) {
    titles.push_back((*title)[1]);
  }
  return titles;
}

bool has_title(const std::vector<std::string>& titles, const std::string& begin) {
  return std::any_of(titles.begin(), titles.end(),
                     [&](const std::string& title) { return title.starts_with(begin); });
}

/// As flamegraph.pl writes numbers.
std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

void check_folded(const FormatRun& run) {
  const Dump json = run.json();
  const Folded folded = read_folded(run.text());
  CHECK(folded == expected_of(json.json()));
  std::uint64_t sum = 0;
  for (const auto& [stack, bytes] : folded) sum += bytes;
  CHECK(sum == json.total("live_bytes"));
  if (sum > 0) CHECK(has_title(titles_of(run.path()), "all (" + with_commas(sum) + " bytes, 100%"));
}

}  // namespace

TEST_CASE("folded stacks of a program whose calls are known") {
  const FormatRun run({ALLOCTAP_PROGRAMS "stacks"}, "folded", "heap.folded");
  check_folded(run);
  const Folded folded = read_folded(run.text());
  const auto found = std::find_if(folded.begin(), folded.end(), [](const auto& entry) {
    return entry.second == 1001 &&
           entry.first.find(";main;outer;large_frame;middle;inner;leaf") != std::string::npos;
  });
  CHECK(found != folded.end());
  CHECK(has_title(titles_of(run.path()), "large_frame (1,001 bytes, "));
}

TEST_CASE("flamegraph.pl shows what grew since an earlier snapshot") {
  using Hook = alloctap::ManualHook<struct FoldedDifference>;
  struct Config : alloctap::DefaultConfig {
    using Hook = alloctap::ManualHook<struct FoldedDifference>;
    using Stack = alloctap::NoStack;
  };
  using Tracker = alloctap::Tracker<Config>;
  const auto session = Tracker::start();
  REQUIRE(session.ok());
  Hook::on_allocate(reinterpret_cast<void*>(0x10000), 2000);
  const auto before = Tracker::snapshot();
  REQUIRE(before.ok());
  Hook::on_allocate(reinterpret_cast<void*>(0x20000), 5000);
  const TemporaryDirectory directory;
  const std::string path = directory.file("difference.folded");
  REQUIRE(Tracker::dump(alloctap::FoldedDump{.before = &*before}, alloctap::FileOutput{path}).ok());
  const auto titles = titles_of(path);
  // Both in one picture: as wide as they are now, and by how much of all that is more.
  CHECK(has_title(titles, "all (7,000 bytes, 100%)"));
  CHECK(std::count_if(titles.begin(), titles.end(), [](const std::string& title) {
          return title.find("%; +") != std::string::npos;
        }) > 0);
}

TEST_CASE("folded stacks of a program that nobody wrote for it") {
  check_folded(FormatRun({"/usr/bin/python3", "-c",
                          "import json, decimal; x = [str(i) for i in "
                          "range(20000)]; import os; os._exit(0)"},
                         "folded", "heap.folded"));
}

TEST_CASE("folded stacks of one frame each") {
  check_folded(
      FormatRun({ALLOCTAP_PROGRAMS "known_mix"}, "folded", "heap.folded", {"--stack=none"}));
}
