#include "alloctap/dump/export/frame_labels.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using alloctap::FrameLabels;
using alloctap::LabelledFrame;
using alloctap::ModuleTable;
using alloctap::StackId;
using alloctap::testing::SampleReport;
using alloctap::testing::StarvedArena;

std::string text_of(const LabelledFrame& frame) {
  std::string text(frame.label);
  if (!frame.file.empty()) text += " " + std::string(frame.file) + ":" + std::to_string(frame.line);
  return text + (frame.inlined ? " inlined" : "");
}

using Texts = std::vector<std::string>;

Texts leaf_first(const FrameLabels& labels, StackId stack) {
  Texts texts;
  labels.visit_leaf_first(stack, [&](const auto& frame) { texts.push_back(text_of(frame)); });
  return texts;
}

Texts root_first(const FrameLabels& labels, StackId stack) {
  Texts texts;
  labels.visit_root_first(stack, [&](const auto& frame) { texts.push_back(text_of(frame)); });
  return texts;
}

/// `engine::next` is inlined into `engine::parse`.
void inline_next(SampleReport& sample) {
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::next", "next.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "parse.cpp", 42},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "", 0}};
}

}  // namespace

TEST_CASE("inlined functions are frames of their own, in either order") {
  SampleReport sample;
  inline_next(sample);
  const auto report = sample.report();
  const FrameLabels labels(report);
  REQUIRE(labels.complete());
  const StackId shallow = sample.snapshot.stacks[2].stack;
  CHECK(leaf_first(labels, shallow) ==
        Texts{"engine::next next.hpp:7 inlined", "engine::parse parse.cpp:42", "main"});
  CHECK(root_first(labels, shallow) ==
        Texts{"main", "engine::parse parse.cpp:42", "engine::next next.hpp:7 inlined"});
}

TEST_CASE("a frame without a name is called by its address, or its place in the file") {
  static int in_module;
  SampleReport sample;
  sample.modules = ModuleTable::read();
  const auto address = reinterpret_cast<std::uintptr_t>(&in_module);
  const StackId stack = sample.intern({address + 1, SampleReport::kNameless + 0x41});
  sample.add({stack, {1, 1, 0}, 1, 1});
  const auto report = sample.report();
  const FrameLabels labels(report);
  REQUIRE(labels.complete());
  const Texts texts = leaf_first(labels, stack);
  REQUIRE(texts.size() == 2);
  const alloctap::Module* module = sample.modules.find(address);
  REQUIRE(module != nullptr);
  const std::string path(module->path);
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%zx", std::size_t{address - module->bias});
  CHECK(texts[0] == path.substr(path.rfind('/') + 1) + offset);
  CHECK(texts[1] == "0x4040");
}

TEST_CASE("each frame tells which call of the list it is of") {
  SampleReport sample;
  inline_next(sample);
  const auto report = sample.report();
  const FrameLabels labels(report);
  std::vector<std::uintptr_t> calls;
  labels.visit_leaf_first(sample.snapshot.stacks[2].stack, [&](const LabelledFrame& frame) {
    calls.push_back(labels.list().return_address(frame.place));
  });
  CHECK(calls == std::vector<std::uintptr_t>{SampleReport::kParse + 0x29,
                                             SampleReport::kParse + 0x29,
                                             SampleReport::kMain + 0x31});
}

TEST_CASE("a stack that is not known has one frame that says so") {
  const SampleReport sample;
  const auto report = sample.report();
  const FrameLabels labels(report);
  CHECK(leaf_first(labels, alloctap::kUnknownStack) == Texts{"[stack unknown]"});
  CHECK(root_first(labels, alloctap::kStackNotTaken) == Texts{"[size outside the range]"});
  labels.visit_leaf_first(alloctap::kUnknownStack, [](const LabelledFrame& frame) {
    CHECK(frame.place == LabelledFrame::kNoPlace);
  });
}

TEST_CASE("where memory ends, labels say that they are not whole") {
  const SampleReport sample;
  const auto report = sample.report();
  bool complete = true;
  {
    const StarvedArena starved;
    complete = FrameLabels(report).complete();
  }
  CHECK_FALSE(complete);
}
