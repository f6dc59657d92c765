#include "alloctap/dump/massif_dump.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::MassifDump;

/// What follows the three lines of the head.
std::string snapshots(const SampleReport& sample, const MassifDump& dump = {}) {
  const std::string text = render(dump, sample.report());
  const std::string last = "time_unit: ms\n";
  return text.substr(text.find(last) + last.size());
}

std::string snapshot(int number, const std::string& time, const std::string& bytes,
                     const std::string& tree) {
  return "#-----------\nsnapshot=" + std::to_string(number) + "\n#-----------\ntime=" + time +
         "\nmem_heap_B=" + bytes + "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=" + tree + "\n";
}

/// The last tree.
std::string end_tree(const SampleReport& sample, const MassifDump& dump = {}) {
  const std::string text = snapshots(sample, dump);
  const std::string mark = "heap_tree=detailed\n";
  return text.substr(text.find(mark) + mark.size());
}

const std::string kRootText = " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n";

/// Leaves the unknown stack, which holds 3 bytes, and what a test adds.
SampleReport nearly_empty() {
  SampleReport sample;
  static_cast<void>(sample.snapshot.stacks.resize(1));
  sample.snapshot.timeline.clear();
  sample.snapshot.peak = {};
  return sample;
}

}  // namespace

TEST_CASE("massif's file has one line each that describes, the command and the unit") {
  const std::string text = render(MassifDump{}, SampleReport().report());
  CHECK(text.starts_with("desc: alloctap "));
  CHECK(text.find("\ncmd: game --level 3\ntime_unit: ms\n#-----------\nsnapshot=0\n") != text.npos);
  CHECK(text.find("\ncmd: ") == text.find('\n'));
}

TEST_CASE("massif sees the timeline, who held the memory at the peak, and who holds it now") {
  SampleReport sample;
  sample.snapshot.time_ns = sample.snapshot.timeline[2].time_ns + 1'500'000'000;
  CHECK(snapshots(sample) ==
        snapshot(0, "0", "1048576", "empty") +  //
            snapshot(1, "30000", "3145728", "peak") + "n2: 3145728" + kRootText +
            " n1: 2097152 0x2028: engine::parse\n"
            "  n0: 2097152 0x3030: main\n"
            " n1: 1048576 0x1010: engine::load(char const*)\n"
            "  n1: 1048576 0x2020: engine::parse\n"
            "   n0: 1048576 0x3030: main\n" +
            snapshot(2, "30000", "3145728", "empty") +  //
            snapshot(3, "60000", "1048576", "empty") +  //
            snapshot(4, "61500", "1089538", "detailed") + "n3: 1089538" + kRootText +
            " n1: 1048575 0x2028: engine::parse\n"
            "  n0: 1048575 0x3030: main\n"
            " n1: 40960 0x1010: engine::load(char const*)\n"
            "  n1: 40960 0x2020: engine::parse\n"
            "   n0: 40960 0x3030: main\n"
            " n0: 3 in 1 place, below massif's threshold (1.00%)\n");
}

TEST_CASE("without a timeline massif sees the end alone, and the peak where it is known") {
  SampleReport sample;
  sample.snapshot.timeline.clear();
  CHECK(snapshots(sample).starts_with(snapshot(0, "0", "3145728", "peak") + "n2: 3145728"));
  sample.snapshot.peak = {};
  CHECK(snapshots(sample).starts_with(snapshot(0, "0", "1089538", "detailed") + "n3: 1089538"));
}

TEST_CASE("times of massif's file do not go back") {
  const SampleReport sample;
  CHECK(snapshots(sample).find(snapshot(4, "60000", "1089538", "detailed")) != std::string::npos);
}

TEST_CASE("what holds little is one line for each caller") {
  SampleReport sample = nearly_empty();
  for (std::uintptr_t i = 0; i < 5; ++i) {
    sample.add(
        {sample.intern({SampleReport::kLoad + i + 1, SampleReport::kMain + 1}), {1, 10, 0}, 1, 10});
  }
  CHECK(end_tree(sample, {.threshold_percent = 20}) ==
        "n1: 53" + kRootText + " n0: 53 in 6 places, all below massif's threshold (20.00%)\n");
  CHECK(end_tree(sample, {.threshold_percent = 0}).find(" n0: 3 [stack unknown]\n") !=
        std::string::npos);
}

TEST_CASE("callers that share what they called stand below it") {
  SampleReport sample = nearly_empty();
  for (std::uintptr_t i = 1; i < 3; ++i) {
    sample.add({sample.intern({SampleReport::kLoad + 1, SampleReport::kMain + i}),
                {1, 100 * i, 0},
                1,
                100 * i});
  }
  CHECK(end_tree(sample) == "n2: 303" + kRootText +
                                " n2: 300 0x1000: engine::load(char const*)\n"
                                "  n0: 200 0x3001: main\n"
                                "  n0: 100 0x3000: main\n"
                                " n0: 3 in 1 place, below massif's threshold (1.00%)\n");
}

TEST_CASE("paths are as long as massif's") {
  SampleReport sample = nearly_empty();
  sample.add(
      {sample.intern({SampleReport::kLoad + 1, SampleReport::kParse + 1, SampleReport::kMain + 1}),
       {1, 100, 0},
       1,
       100});
  CHECK(end_tree(sample, {.most_calls = 2}).find("  n0: 100 0x2000: engine::parse\n") !=
        std::string::npos);
}

TEST_CASE("a function that was inlined stands above the one that has its code") {
  SampleReport sample = nearly_empty();
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "lambda#1", "src/token.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "parse.cpp", 42},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "", 0}};
  sample.add(
      {sample.intern({SampleReport::kParse + 1, SampleReport::kMain + 1}), {1, 1000, 0}, 1, 1000});
  CHECK(end_tree(sample).find(" n1: 1000 0x2000: lambda?1 (token.hpp:7)\n"
                              "  n1: 1000 0x2000: engine::parse (parse.cpp:42)\n"
                              "   n0: 1000 0x3000: main\n") != std::string::npos);
}
