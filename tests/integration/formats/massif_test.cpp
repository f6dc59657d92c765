// ms_print takes our file, whose trees add up to the numbers of the JSON report.
#include <doctest/doctest.h>

#include <cstdint>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;

struct Node {
  std::size_t children = 0;
  std::uint64_t bytes = 0;
  std::string text;
};

struct MassifSnapshot {
  std::uint64_t time = 0;
  std::uint64_t heap = 0;
  std::string kind;
  /// In the order of the file.
  std::vector<Node> tree;
};

std::vector<MassifSnapshot> read_snapshots(const std::string& text) {
  static const std::regex node_form(R"(^ *n(\d+): (\d+) (.*)$)");
  std::vector<MassifSnapshot> snapshots;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string value = line.substr(line.find('=') + 1);
    std::smatch parts;
    if (line.starts_with("snapshot=")) snapshots.emplace_back();
    if (snapshots.empty()) continue;
    MassifSnapshot& snapshot = snapshots.back();
    if (line.starts_with("time=")) snapshot.time = std::stoull(value);
    if (line.starts_with("mem_heap_B=")) snapshot.heap = std::stoull(value);
    if (line.starts_with("heap_tree=")) snapshot.kind = value;
    if (std::regex_match(line, parts, node_form)) {
      snapshot.tree.push_back({std::stoull(parts[1]), std::stoull(parts[2]), parts[3]});
    }
  }
  return snapshots;
}

/// The node at `at` and all below it; returns where the next one is. A path may end where others go
/// on, so children may hold less than their parent.
std::size_t check_node(const std::vector<Node>& tree, std::size_t at, bool is_root) {
  REQUIRE(at < tree.size());
  std::uint64_t below = 0;
  std::size_t next = at + 1;
  for (std::size_t i = 0; i < tree[at].children; ++i) {
    REQUIRE(next < tree.size());
    below += tree[next].bytes;
    next = check_node(tree, next, false);
  }
  CAPTURE(tree[at].text);
  CHECK(below <= tree[at].bytes);
  if (is_root) CHECK(below == tree[at].bytes);
  return next;
}

void check_tree(const MassifSnapshot& snapshot) {
  CHECK(check_node(snapshot.tree, 0, true) == snapshot.tree.size());
  CHECK(snapshot.tree[0].bytes == snapshot.heap);
}

std::vector<MassifSnapshot> check_file(const FormatRun& run) {
  const std::vector<MassifSnapshot> snapshots = read_snapshots(run.text());
  REQUIRE_FALSE(snapshots.empty());
  std::uint64_t time = 0;
  for (const MassifSnapshot& snapshot : snapshots) {
    CHECK(snapshot.time >= time);
    time = snapshot.time;
    if (snapshot.kind == "empty") {
      CHECK(snapshot.tree.empty());
    } else {
      check_tree(snapshot);
    }
    if (snapshot.kind == "peak") {
      CHECK(snapshot.heap == run.json().json().at("peak").at("live_bytes"));
    }
  }
  CHECK(snapshots.back().kind == "detailed");
  CHECK(snapshots.back().heap == run.json().total("live_bytes"));
  return snapshots;
}

std::string print(const FormatRun& run) {
  const Outcome outcome = alloctap::testing::run(
      {.arguments = {"/usr/bin/ms_print", run.path()}, .directory = run.file("")});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  return outcome.out;
}

}  // namespace

TEST_CASE("ms_print shows a program whose calls are known") {
  const FormatRun run({ALLOCTAP_PROGRAMS "known_mix"}, "massif", "massif.out");
  const std::vector<MassifSnapshot> snapshots = check_file(run);
  const std::vector<Node>& tree = snapshots.back().tree;
  REQUIRE(tree.size() > 3);
  CHECK(tree[1].bytes == 599'500);
  CHECK(tree[1].text.find(": allocate (known_mix.c:") != std::string::npos);
  CHECK(tree[2].text.find(": keeps (known_mix.c:") != std::string::npos);
  CHECK(tree[3].text.find(": main (known_mix.c:") != std::string::npos);
  const std::string printed = print(run);
  CHECK(printed.find("Command:            " ALLOCTAP_PROGRAMS "known_mix\n") != std::string::npos);
  CHECK(printed.find("->100.00% (599,500B) 0x") != std::string::npos);
}

TEST_CASE("ms_print shows a program that nobody wrote for it") {
  const FormatRun run({"/usr/bin/python3", "-c",
                       "import json, decimal; x = [str(i) for i in range(20000)]; "
                       "import os; os._exit(0)"},
                      "massif", "massif.out");
  CHECK(check_file(run).back().tree.size() > 10);
  CHECK(print(run).find("below massif's threshold (1.00%)") != std::string::npos);
}

TEST_CASE("ms_print shows stacks of one frame each") {
  const FormatRun run({ALLOCTAP_PROGRAMS "known_mix"}, "massif", "massif.out", {"--stack=none"});
  check_file(run);
  print(run);
}
