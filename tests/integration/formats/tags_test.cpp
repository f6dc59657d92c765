// Tags and threads of a real program: what the text report, the JSON report and go tool pprof show
// of them is the same, and what the program did.
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/formats/ask_pprof.hpp"
#include "tests/integration/support/dump.hpp"
#include "tests/integration/support/process.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap::testing;

/// Live bytes by the name of a tag or a thread.
using Held = std::map<std::string, std::uint64_t>;

class TaggedRun {
 public:
  TaggedRun() {
    const std::string home = directory_.file("");
    const Outcome outcome = run({.arguments = {ALLOCTAP_TAGGED_PROGRAM, home}});
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
  }

  [[nodiscard]] Json json() const { return Dump(directory_.file("heap.json")).json(); }

  /// The JSON that alloctap-convert makes of the record.
  [[nodiscard]] Json converted() const {
    const std::string path = directory_.file("converted.json");
    const Outcome outcome = run(
        {.arguments = {ALLOCTAP_CONVERT_BINARY, directory_.file("heap.record"), "json=" + path}});
    CHECK(outcome.status == 0);
    return Dump(path).json();
  }

  /// The lines of the text report below `title`.
  [[nodiscard]] Held text(const std::string& title) const {
    std::ifstream file(directory_.file("heap.txt"));
    Held held;
    bool below = false;
    static const std::regex row(R"(  (\d+) B \(.*temporary   (.*))");
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (below && std::regex_match(line, match, row)) held[match[2]] = std::stoull(match[1]);
      if (line.empty()) below = false;
      if (line.starts_with(title)) below = true;
    }
    return held;
  }

  [[nodiscard]] std::string pprof(std::vector<std::string> options) const {
    options.push_back(directory_.file("heap.pb.gz"));
    return ask_pprof(directory_.file(""), options);
  }

  /// What `-tags` shows of the label `key`.
  [[nodiscard]] Held labels(const std::string& key) const {
    std::istringstream answer(pprof({"-tags", "-unit=B", "-sample_index=inuse_space"}));
    Held held;
    bool below = false;
    static const std::regex row(R"( +(\d+)[.0]*B? +\([^)]*\): (.*))");
    for (std::string line; std::getline(answer, line);) {
      std::smatch match;
      if (below && std::regex_match(line, match, row)) held[match[2]] = std::stoull(match[1]);
      if (line.find(": Total ") != line.npos) below = line.starts_with(" " + key + ":");
    }
    return held;
  }

 private:
  TemporaryDirectory directory_;
};

Held json_tags(const Json& report) {
  Held held;
  for (const Json& tag : report.at("tags")) {
    if (!tag.at("tag").is_null()) held[tag.at("tag")] = tag.at("live_bytes");
  }
  return held;
}

}  // namespace

TEST_CASE("each block is its tag's, in each report") {
  const TaggedRun run;
  const Held expected{{"Loading", 50}, {"Loading/Textures", 200}, {"Physics", 400}};
  CHECK(json_tags(run.json()) == expected);
  CHECK(run.labels("tag") == expected);
  Held text = run.text("Live memory by tag");
  text.erase("(no tag)");
  CHECK(text == expected);
}

TEST_CASE("each block is its thread's, in each report") {
  const TaggedRun run;
  const Json report = run.json();
  Held expected;
  std::uint64_t sum = 0;
  for (const Json& thread : report.at("threads")) {
    const std::string id = std::to_string(thread.at("id").get<std::uint64_t>());
    const bool has_name = !thread.at("name").is_null();
    const std::string label =
        has_name ? thread.at("name").get<std::string>() + " (" + id + ")" : id;
    expected[label] = thread.at("live_bytes");
    sum += thread.at("live_bytes").get<std::uint64_t>();
    if (!has_name) CHECK(thread.at("live_bytes") == 400);
  }
  CHECK(expected.size() == 2);
  CHECK(sum == report.at("totals").at("live_bytes"));
  CHECK(run.labels("thread") == expected);
  CHECK(run.text("Live memory by thread") == expected);
}

TEST_CASE("-tagfocus shows the stacks of a tag") {
  const TaggedRun run;
  for (const auto& [tag, bytes] : json_tags(run.json())) {
    const std::string top =
        run.pprof({"-top", "-unit=B", "-sample_index=inuse_space", "-tagfocus=tag=^" + tag + "$"});
    CAPTURE(top);
    CHECK(top.find("Showing nodes accounting for " + std::to_string(bytes) + "B") != top.npos);
  }
}

TEST_CASE("what is made of a record has tags and threads as before") {
  const TaggedRun run;
  const Json converted = run.converted();
  const Json direct = run.json();
  for (const char* part : {"tags", "threads", "stacks"})
    CHECK(converted.at(part) == direct.at(part));
}
