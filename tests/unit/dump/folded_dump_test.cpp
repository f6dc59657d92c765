#include "alloctap/dump/folded_dump.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using alloctap::FoldedDump;
using alloctap::Snapshot;
using alloctap::StackCount;
using alloctap::testing::render;
using alloctap::testing::SampleReport;
using alloctap::testing::TaggedReport;

}  // namespace

TEST_CASE("each stack with live bytes has a line, from the root to the leaf") {
  const SampleReport sample;
  CHECK(render(FoldedDump{}, sample.report()) ==
        "[stack unknown] 3\n"
        "main;engine::parse;engine::load(char const*) 40960\n"
        "main;engine::parse 1048575\n");
}

TEST_CASE("other numbers can be counted; stacks without one have no line") {
  const SampleReport sample;
  CHECK(render(FoldedDump{.count = StackCount::kLiveAllocations}, sample.report()) ==
        "[stack unknown] 2\n"
        "main;engine::parse;engine::load(char const*) 10\n"
        "main;engine::parse 1\n");
  CHECK(render(FoldedDump{.count = StackCount::kAllocatedBytes}, sample.report()) ==
        "[stack unknown] 70\n"
        "main;engine::parse;engine::load(char const*) 65536\n"
        "main;engine::parse 5242880\n"
        "0x4040 99\n");
  CHECK(render(FoldedDump{.count = StackCount::kAllocations}, sample.report()) ==
        "[stack unknown] 7\n"
        "main;engine::parse;engine::load(char const*) 1000\n"
        "main;engine::parse 5\n"
        "0x4040 1234567\n");
  CHECK(render(FoldedDump{.count = StackCount::kTemporaryAllocations}, sample.report()) ==
        "main;engine::parse;engine::load(char const*) 250\n"
        "main;engine::parse 1\n"
        "0x4040 1234567\n");
}

TEST_CASE("names cannot end a frame or a line") {
  SampleReport sample;
  sample.names[0].name = ";a;;b\nc\r;";
  CHECK(render(FoldedDump{}, sample.report()).find("main;engine::parse;:a::b c : 40960\n") !=
        std::string::npos);
}

TEST_CASE("inlined functions are frames") {
  SampleReport sample;
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::next", "next.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "parse.cpp", 42}};
  CHECK(render(FoldedDump{}, sample.report()).find("0x3030;engine::parse;engine::next 1048575\n") !=
        std::string::npos);
}

TEST_CASE("beside an earlier snapshot there are two numbers, what was freed and what is new too") {
  SampleReport sample;
  Snapshot before;
  // The second stack is the same, the third held more, the fourth held something, the first is new.
  static_cast<void>(before.stacks.push_back(sample.snapshot.stacks[1]));
  static_cast<void>(before.stacks.push_back(sample.snapshot.stacks[2]));
  static_cast<void>(before.stacks.push_back(sample.snapshot.stacks[3]));
  before.stacks[1].live_bytes = 5000000;
  before.stacks[2].live_bytes = 7;
  CHECK(render(FoldedDump{.before = &before}, sample.report()) ==
        "[stack unknown] 0 3\n"
        "main;engine::parse;engine::load(char const*) 40960 40960\n"
        "main;engine::parse 5000000 1048575\n"
        "0x4040 7 0\n");
}

TEST_CASE("a snapshot that has other stacks is no earlier one") {
  SampleReport sample;
  Snapshot later;
  static_cast<void>(later.stacks.push_back({1000, {}, 1, 1}));
  CHECK(render(FoldedDump{.before = &later}, sample.report()) ==
        "folded: the snapshot to compare with is not an earlier one of the same tracker");
}

TEST_CASE("a report of nothing is empty") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  CHECK(render(FoldedDump{}, sample.report()).empty());
}

TEST_CASE("the tag of a stack is its root") {
  const TaggedReport sample;
  const std::string text = render(FoldedDump{}, sample.report());
  CHECK(text.find("\nGame/Physics;main 200\n") != text.npos);
  CHECK(text.find("\nGame/Sound/Voice;main 300\n") != text.npos);
}
