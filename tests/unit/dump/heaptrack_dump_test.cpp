#include "alloctap/dump/heaptrack_dump.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/sample_report.hpp"
#include "tests/unit/dump/heaptrack_file.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::HeaptrackDump;
using Cost = HeaptrackFile::Cost;

/// A million events fewer.
struct FewEvents : SampleReport {
  FewEvents() { snapshot.stacks[3].total = {5, 99, 5}; }
};

HeaptrackFile written_heaptrack(const SampleReport& sample, const HeaptrackDump& dump = {}) {
  return HeaptrackFile(render(dump, sample.report()));
}

const std::string kDeep = "main;engine::parse;engine::load(char const*)";

}  // namespace

TEST_CASE("heaptrack's events add up to the numbers of every stack") {
  const HeaptrackFile file = written_heaptrack(SampleReport());
  CHECK(file.unreadable.empty());
  CHECK(file.stacks.size() == 4);
  CHECK(file.stacks.at("[stack unknown]") == Cost{7, 0, 3, 14});
  CHECK(file.stacks.at(kDeep) == Cost{1000, 250, 40960, 40960});
  CHECK(file.stacks.at("main;engine::parse") == Cost{5, 1, (1 << 20) - 1, 2 << 20});
  CHECK(file.stacks.at("0x4040") == Cost{1234567, 1234567, 0, 1});
  CHECK(file.total == Cost{1235579, 1234818, 1089538, (2 << 20) + 40960});
}

TEST_CASE("heaptrack sees the peak that was, and what is live in the end") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.snapshot.peak.stacks.clear();
  const auto early = sample.intern({SampleReport::kLoad + 1});
  const auto late = sample.intern({SampleReport::kParse + 1});
  const auto always = sample.intern({SampleReport::kMain + 1});
  sample.add({early, {10, 5000, 3}, 0, 0});
  sample.add({late, {5, 50, 0}, 5, 50});
  sample.add({always, {7, 700, 0}, 7, 700});
  static_cast<void>(sample.snapshot.peak.stacks.push_back({early, 4, 4000}));
  static_cast<void>(sample.snapshot.peak.stacks.push_back({always, 7, 700}));
  const HeaptrackFile file = written_heaptrack(sample);
  CHECK(file.total == Cost{22, 3, 750, 4700});
  CHECK(file.stacks.at("engine::load(char const*)") == Cost{10, 3, 0, 4000});
  CHECK(file.stacks.at("engine::parse") == Cost{5, 0, 50, 50});
  CHECK(file.stacks.at("main") == Cost{7, 0, 700, 700});
}

TEST_CASE("heaptrack sees the largest temporary block that was there at the peak") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.snapshot.peak.stacks.clear();
  const auto small = sample.intern({SampleReport::kLoad + 1});
  const auto large = sample.intern({SampleReport::kParse + 1});
  const auto medium = sample.intern({SampleReport::kMain + 1});
  for (const auto& [stack, size] : {std::pair{small, 10u}, {large, 1000u}, {medium, 100u}}) {
    sample.add({stack, {1, size, 1}, 0, 0});
    static_cast<void>(sample.snapshot.peak.stacks.push_back({stack, 1, size}));
  }
  CHECK(written_heaptrack(sample).total == Cost{3, 3, 0, 1000});
}

TEST_CASE("heaptrack sees the peak at its time") {
  const HeaptrackFile file = written_heaptrack(FewEvents());
  CHECK(file.times == std::vector<std::uint64_t>{0, 30'000, 30'000, 60'000});
}

TEST_CASE("heaptrack sees a block that was freed, but not at once, also where it is the only one") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.add({sample.intern({SampleReport::kMain + 1}), {1, 100, 0}, 0, 0});
  CHECK(written_heaptrack(sample).total == Cost{1, 0, 0, 100});
}

TEST_CASE("heaptrack sees blocks of no bytes") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.add({sample.intern({SampleReport::kMain + 1}), {5, 0, 2}, 1, 0});
  CHECK(written_heaptrack(sample).total == Cost{5, 2, 0, 0});
}

TEST_CASE("numbers that are estimates and do not go together make no endless file") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.add({sample.intern({SampleReport::kMain + 1}), {3, 10, 9}, 4, 20});
  CHECK(written_heaptrack(sample).total == Cost{4, 0, 20, 20});
}

TEST_CASE("a file that would have too many events fails, and says what helps") {
  const SampleReport sample;
  CHECK(render(HeaptrackDump{.most_events = 1'000'000}, sample.report()).find("only_live = true") !=
        std::string::npos);
  CHECK(written_heaptrack(sample, {.only_live = true, .most_events = 13}).total.allocations == 13);
}

TEST_CASE("heaptrack can have what is live alone") {
  const HeaptrackFile file = written_heaptrack(FewEvents(), {.only_live = true});
  CHECK(file.total == Cost{13, 0, 1089538, 1089538});
  CHECK(file.stacks.at(kDeep) == Cost{10, 0, 40960, 40960});
  CHECK_FALSE(file.stacks.contains("0x4040"));
}

TEST_CASE("a call has the function that was inlined first, each with its place") {
  FewEvents sample;
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::token", "token.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "parse.cpp", 42},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "", 0}};
  CHECK(written_heaptrack(sample).stacks.contains(
      "main;engine::parse parse.cpp:42;[engine::token token.hpp:7]"));
}

TEST_CASE("the file starts with its version, and has the command in a line") {
  FewEvents sample;
  const std::string text = render(HeaptrackDump{}, sample.report());
  CHECK(text.starts_with("v 10400 3\n# alloctap "));
  CHECK(HeaptrackFile(text).command == "game --level 3");
  sample.program.command = "";
  CHECK(written_heaptrack(sample).command == "/opt/game/bin/game");
}

TEST_CASE("a control character in a name leaves the lines whole") {
  FewEvents sample;
  sample.names = {{SampleReport::kMain, SampleReport::kNameless, "ma\nin", "", 0}};
  sample.program.command = "game\n--level";
  const HeaptrackFile file = written_heaptrack(sample);
  CHECK(file.unreadable.empty());
  CHECK(file.command == "game --level");
  CHECK(file.stacks.contains("ma?in;0x2028"));
}

TEST_CASE("the timeline tells how long the program ran, and its resident memory") {
  FewEvents sample;
  sample.snapshot.timeline.clear();
  sample.snapshot.peak = {};
  for (const std::int64_t second : {0, 1, 3}) {
    static_cast<void>(sample.snapshot.timeline.push_back(
        {.time_ns = 1'700'000'000'000'000'000 + second * 1'000'000'000,
         .resident_bytes = static_cast<std::uint64_t>(second) << 20}));
  }
  const HeaptrackFile file = written_heaptrack(sample);
  CHECK(file.times == std::vector<std::uint64_t>{0, 1000, 3000});
  CHECK(file.resident_pages == std::vector<std::uint64_t>{0, 256, 768});
}

TEST_CASE("stacks without frames say why") {
  FewEvents sample;
  sample.add({alloctap::kStackNotTaken, {5, 500, 0}, 1, 100});
  CHECK(written_heaptrack(sample).stacks.at("[size outside the range]").allocations == 5);
}
