// go tool pprof shows of our profiles what the JSON report of the same run says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/formats/ask_pprof.hpp"
#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

/// What `-top` tells of a function: in it alone, and in all that it calls.
struct Row {
  std::int64_t flat = 0;
  std::int64_t cumulative = 0;
  bool operator==(const Row&) const = default;
};

using Rows = std::map<std::string, Row>;

class Pprof {
 public:
  [[nodiscard]] std::string ask(const Texts& arguments) const {
    return ask_pprof(directory_.file(""), arguments);
  }

  /// What `-tags` tells of the label "bytes", by size.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> sizes(Texts options) const {
    options.insert(options.begin(), {"-tags", "-unit=B"});
    const std::string answer = ask(options);
    CHECK(answer.starts_with(" bytes: Total "));
    static const std::regex row_form(R"(\n +(\d+)[.0]*B? +\([^)]*\): (\d+)B)");
    std::map<std::uint64_t, std::uint64_t> sizes;
    for (std::sregex_iterator row(answer.begin(), answer.end(), row_form), end; row != end; ++row) {
      sizes[std::stoull((*row)[2])] = std::stoull((*row)[1]);
    }
    return sizes;
  }

  /// All rows of `-top`, without limits on their number or size.
  [[nodiscard]] Rows top(Texts options) const {
    options.insert(options.begin(),
                   {"-top", "-nodecount=-1", "-nodefraction=0", "-edgefraction=0", "-unit=B"});
    std::istringstream answer(ask(options));
    Rows rows;
    bool in_rows = false;
    for (std::string line; std::getline(answer, line);) {
      if (in_rows) add_row(line, rows);
      if (line.find("flat%") != line.npos) in_rows = true;
    }
    CHECK(in_rows);
    return rows;
  }

 private:
  /// "flat flat% sum% cum cum%  name (inline)"
  static void add_row(const std::string& line, Rows& rows) {
    std::istringstream words(line);
    std::string flat;
    std::string cumulative;
    std::string percent;
    std::string name;
    words >> flat >> percent >> percent >> cumulative >> percent >> std::ws;
    std::getline(words, name);
    for (const char* mark : {" (inline)", " (partial-inline)"}) {
      if (name.ends_with(mark)) name.erase(name.size() - std::string(mark).size());
    }
    CHECK_FALSE(rows.contains(name));
    rows[name] = {.flat = std::stoll(flat), .cumulative = std::stoll(cumulative)};
  }

  TemporaryDirectory directory_;
};

/// The rows that the JSON report's stacks make; those of nothing are not shown.
Rows rows_of(const Json& report, const char* key) {
  Rows rows;
  for (const Json& stack : report.at("stacks")) {
    const auto value = stack.at(key).get<std::int64_t>();
    const Texts labels = labels_of(report, stack);
    rows[labels.front()].flat += value;
    for (const std::string& label : std::set(labels.begin(), labels.end())) {
      rows[label].cumulative += value;
    }
  }
  std::erase_if(rows, [](const auto& row) { return row.second == Row{}; });
  return rows;
}

void check_rows(const Rows& shown, const Rows& expected) {
  CHECK(shown.size() == expected.size());
  for (const auto& [name, row] : expected) {
    CAPTURE(name);
    REQUIRE(shown.contains(name));
    CHECK(shown.at(name).flat == row.flat);
    CHECK(shown.at(name).cumulative == row.cumulative);
  }
}

void check_profile(const FormatRun& run) {
  const Pprof pprof;
  const Dump json = run.json();
  check_rows(pprof.top({run.path()}), rows_of(json.json(), "live_bytes"));
  for (const auto& [index, key] :
       std::map<std::string, const char*>{{"inuse_space", "live_bytes"},
                                          {"inuse_objects", "live_allocations"},
                                          {"alloc_space", "allocated_bytes"},
                                          {"alloc_objects", "allocations"}}) {
    CAPTURE(index);
    check_rows(pprof.top({"-sample_index=" + index, run.path()}), rows_of(json.json(), key));
  }
}

const Texts kPprofPython{
    "/usr/bin/python3", "-c",
    "import json, decimal, os; x = [str(i) for i in range(20000)]; os._exit(0)"};

}  // namespace

TEST_CASE("-top shows the rows of the report, by each of the sample types") {
  check_profile(FormatRun({ALLOCTAP_PROGRAMS "stacks"}, "pprof", "heap.pb.gz"));
}

TEST_CASE("-top shows the rows of a program that nobody wrote for it") {
  check_profile(FormatRun(kPprofPython, "pprof", "heap.pb.gz"));
}

TEST_CASE("-top shows stacks that were not taken or are not known") {
  check_profile(
      FormatRun({ALLOCTAP_PROGRAMS "stacks"}, "pprof", "heap.pb.gz", {"--min-size=1004"}));
}

TEST_CASE("-raw shows the types, the program first and the build-ids of all that allocated") {
  const FormatRun run(kPprofPython, "pprof", "heap.pb.gz");
  const Dump json = run.json();
  const std::string raw = Pprof().ask({"-raw", run.path()});
  CHECK(raw.find("PeriodType: space bytes\nPeriod: 1\n") != raw.npos);
  CHECK(raw.find("inuse_space/bytes[dflt]") != raw.npos);
  const std::string executable = json.json().at("program").at("executable");
  const std::size_t mappings = raw.find("\nMappings\n");
  REQUIRE(mappings != raw.npos);
  const std::string first = raw.substr(mappings, raw.find('\n', mappings + 10) - mappings);
  CHECK(first.find(executable) != first.npos);
  CHECK(first.find("[FN]") != first.npos);
  for (const Json& frame : json.json().at("frames")) {
    if (frame.at("module").is_null()) continue;
    const Json& module = json.json().at("modules").at(frame.at("module").get<std::size_t>());
    CHECK(raw.find(module.at("build_id").get<std::string>()) != raw.npos);
  }
}

TEST_CASE("-tags shows how much lies in blocks of each size") {
  const FormatRun run({ALLOCTAP_PROGRAMS "stacks"}, "pprof", "heap.pb.gz");
  const Dump json = run.json();
  for (const auto& [index, total] : {std::pair("inuse_space", json.total("live_bytes")),
                                     std::pair("inuse_objects", json.total("live_allocations"))}) {
    CAPTURE(index);
    const bool bytes = std::string(index) == "inuse_space";
    const std::map<std::uint64_t, std::uint64_t> tags =
        Pprof().sizes({"-sample_index=" + std::string(index), run.path()});
    std::uint64_t sum = 0;
    for (const auto& [size, value] : tags) sum += value;
    CHECK(sum == total);
    for (std::uint64_t size = 1001; size <= 1009; ++size) {
      REQUIRE(tags.contains(size));
      CHECK(tags.at(size) == (bytes ? size : 1));
    }
  }
}

TEST_CASE("-comments shows the account") {
  const FormatRun run({ALLOCTAP_PROGRAMS "stacks"}, "pprof", "heap.pb.gz");
  const std::string comments = Pprof().ask({"-comments", run.path()});
  CHECK(comments.find("programs/stacks") != comments.npos);
  CHECK(comments.find(" 0 dropped") != comments.npos);
}

TEST_CASE("-diff_base shows what one run has more than another, wherever modules lie") {
  const FormatRun small({"/usr/bin/python3", "-c", "import os; os._exit(0)"}, "pprof", "a.pb.gz");
  const FormatRun large(kPprofPython, "pprof", "b.pb.gz");
  Rows expected = rows_of(large.json().json(), "live_bytes");
  for (const auto& [name, row] : rows_of(small.json().json(), "live_bytes")) {
    expected[name].flat -= row.flat;
    expected[name].cumulative -= row.cumulative;
  }
  std::erase_if(expected, [](const auto& row) { return row.second == Row{}; });
  Rows shown = Pprof().top({"-diff_base=" + small.path(), large.path()});
  std::erase_if(shown, [](const auto& row) { return row.second == Row{}; });
  check_rows(shown, expected);
}

TEST_CASE("both generations of a plug-in that was rebuilt are shown by name") {
  const FormatRun run({ALLOCTAP_PROGRAMS "reloads", ALLOCTAP_PLUGIN_FIRST, ALLOCTAP_PLUGIN_SECOND},
                      "pprof", "heap.pb.gz");
  const Rows rows = Pprof().top({"-sample_index=alloc_space", run.path()});
  check_rows(rows, rows_of(run.json().json(), "allocated_bytes"));
  for (const std::string build : {"first_build::", "second_build::"}) {
    CHECK(std::any_of(rows.begin(), rows.end(),
                      [&](const auto& row) { return row.first.starts_with(build); }));
  }
}
