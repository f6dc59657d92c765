// Matrix's JSON and log show what modules and stacks hold by the JSON report of the same run.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;
using Sizes = std::map<std::string, std::uint64_t>;

const Texts kMatrixPython{
    "/usr/bin/python3", "-c",
    "import json, decimal, os; x = [str(i) for i in range(20000)]; os._exit(0)"};

/// Of the modules that these programs load, those that allocate for others.
bool is_runtime(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  static const std::array<const char*, 5> kStarts{"libc.so", "libstdc++.so", "libgcc_s.",
                                                  "ld-linux", "liballoctap"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](const char* start) { return file.starts_with(start); });
}

/// The paths of the modules of a stack's frames, leaf first.
Texts paths_of(const Json& report, const Json& stack) {
  Texts paths;
  for (const Json& index : stack.at("frames")) {
    const Json& module = report.at("frames").at(index.get<std::size_t>()).at("module");
    paths.push_back(
        module.is_null()
            ? "[unknown]"
            : report.at("modules").at(module.get<std::size_t>()).at("path").get<std::string>());
  }
  return paths;
}

std::string owner_of(const Json& report, const Json& stack) {
  const Texts paths = paths_of(report, stack);
  for (const std::string& path : paths) {
    if (!is_runtime(path)) return path;
  }
  return paths.empty() ? "[unknown]" : paths.front();
}

std::string brief_of(const Json& report, const Json& stack) {
  const Texts paths = paths_of(report, stack);
  std::ostringstream text;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (i == 0 || paths[i] != paths[i - 1]) text << paths[i] << ';';
    const Json& frame = report.at("frames").at(stack.at("frames")[i].get<std::size_t>());
    const bool in_module = !frame.at("module").is_null();
    text << std::hex
         << (in_module ? frame.at("offset").get<std::uint64_t>()
                       : frame.at("address").get<std::uint64_t>() - 1)
         << ';';
  }
  return text.str();
}

Sizes modules_of(const Json& report, const Json& stacks, const char* count) {
  Sizes sizes;
  for (const Json& stack : stacks) {
    if (stack.at(count) == 0) continue;
    sizes[owner_of(report, stack)] += stack.at("live_bytes").get<std::uint64_t>();
  }
  return sizes;
}

std::uint64_t size_of(const Json& entry) {
  return std::stoull(entry.at("size").get<std::string>());
}

/// Descending, and each of a module of its own.
Sizes sizes_of(const Json& entries) {
  Sizes sizes;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    sizes[entries[i].at("so")] += size_of(entries[i]);
    if (i > 0) CHECK(size_of(entries[i - 1]) >= size_of(entries[i]));
  }
  CHECK(sizes.size() == entries.size());
  return sizes;
}

void check_stacks(const Json& entries, const Json& report, const Json& stacks) {
  for (const Json& entry : entries) {
    std::multimap<std::uint64_t, std::string> expected;
    for (const Json& stack : stacks) {
      if (owner_of(report, stack) != entry.at("so").get<std::string>() ||
          stack.at("live_bytes") == 0)
        continue;
      expected.emplace(stack.at("live_bytes").get<std::uint64_t>(), brief_of(report, stack));
    }
    const Json& top = entry.at("top_stacks");
    CHECK(top.size() == std::min<std::size_t>(3, expected.size()));
    auto largest = expected.rbegin();
    for (const Json& shown : top) {
      CHECK(size_of(shown) == largest++->first);
      const auto [first, last] = expected.equal_range(size_of(shown));
      CHECK(std::any_of(first, last, [&](const auto& stack) {
        return stack.second == shown.at("stack").get<std::string>();
      }));
    }
  }
}

}  // namespace

TEST_CASE("the JSON has the memory of every module, and three stacks of each of three") {
  const FormatRun run(kMatrixPython, "matrix", "heap.matrix.json");
  const Json report = run.json().json();
  const Json matrix = Json::parse(run.text());
  const Json& mappings = report.at("mappings").at("stacks");
  CHECK(sizes_of(matrix.at("SoNativeSize")) ==
        modules_of(report, report.at("stacks"), "live_allocations"));
  CHECK(sizes_of(matrix.at("SoMmapSize")) == modules_of(report, mappings, "live_mappings"));
  CHECK(matrix.at("NativeHeap").size() ==
        std::min<std::size_t>(3, matrix.at("SoNativeSize").size()));
  check_stacks(matrix.at("NativeHeap"), report, report.at("stacks"));
  check_stacks(matrix.at("mmap"), report, mappings);
}

TEST_CASE("the log's sums are the report's, and its sizes are those of blocks") {
  const FormatRun run({ALLOCTAP_PROGRAMS "stacks"}, "matrix-log", "heap.log");
  const Dump json = run.json();
  const std::string text = run.text();
  const std::string sum =
      "| caller total size = " + std::to_string(json.total("live_bytes")) +
      " b, ptr totals counts = " + std::to_string(json.total("live_allocations")) + ".\n";
  CHECK(text.find(sum) != text.npos);
  for (int size = 1001; size <= 1009; ++size) {
    const std::string line = "   size =       " + std::to_string(size) + " b, count = 1\n";
    CAPTURE(line);
    CHECK(text.find(line) != text.npos);
  }
  static const std::regex size_form("malloc size of the same stack = (\\d+)\n");
  std::multiset<std::uint64_t> shown;
  for (std::sregex_iterator match(text.begin(), text.end(), size_form), end; match != end;
       ++match) {
    shown.insert(std::stoull((*match)[1]));
  }
  std::multiset<std::uint64_t> expected;
  for (const Json& stacks : {json.json().at("stacks"), json.json().at("mappings").at("stacks")}) {
    for (const Json& stack : stacks) {
      const auto bytes = stack.at("live_bytes").get<std::uint64_t>();
      if (bytes > 0) expected.insert(bytes);
    }
  }
  CHECK(shown == expected);
  CHECK(text.find("      | #pc ") != text.npos);
  CHECK(text.find(" leaf (" ALLOCTAP_PROGRAMS "stacks)\n") != text.npos);
}
