#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/fakes.hpp"

namespace {

using alloctap::FrameList;
using alloctap::Module;
using alloctap::ModuleTable;
using alloctap::Report;
using alloctap::Snapshot;
using alloctap::StackId;
using alloctap::StackTable;
using alloctap::testing::FakeSymbolizer;
using alloctap::testing::StarvedArena;

/// A snapshot with these stacks.
struct Stacks {
  void add(const std::vector<std::uintptr_t>& frames) {
    CHECK(snapshot.stacks.push_back({table->intern(frames), {}, 0, 0}));
  }
  void add_mapping(const std::vector<std::uintptr_t>& frames) {
    CHECK(snapshot.mappings.push_back({table->intern(frames), 1, 1}));
  }

  Stacks() { snapshot.table = table.get(); }

  std::unique_ptr<StackTable> table = std::make_unique<StackTable>();
  [[nodiscard]] Report report() const {
    return {.snapshot = snapshot,
            .modules = modules,
            .program = {},
            .backend = {},
            .symbolize = &FakeSymbolizer::symbolize};
  }

  Snapshot snapshot;
  ModuleTable modules;
};

std::vector<std::uintptr_t> all(const FrameList& list) {
  std::vector<std::uintptr_t> frames;
  for (std::size_t i = 0; i < list.size(); ++i) frames.push_back(list.return_address(i));
  return frames;
}

Module unloaded_module(std::uintptr_t start, std::uintptr_t end, StackId before) {
  Module module;
  module.start = start;
  module.end = end;
  module.path = "/opt/plugin.so";
  module.unloaded_before = before;
  return module;
}

}  // namespace

TEST_CASE("every frame of the stacks is in the list once, by ascending address") {
  Stacks stacks;
  stacks.add({30, 20, 10});
  stacks.add({40, 20, 10});
  stacks.add({});
  stacks.add_mapping({5, 10, 10});
  const Report report = stacks.report();
  const FrameList list(report);
  CHECK(list.complete());
  CHECK(all(list) == std::vector<std::uintptr_t>{5, 10, 20, 30, 40});
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(list.index_of(alloctap::kFirstStack, list.return_address(i)) == i);
    CHECK(list.place(i).address == list.return_address(i) - 1);
    CHECK(list.place(i).module == nullptr);
  }
}

TEST_CASE("a snapshot of nothing has no frames") {
  const Stacks stacks;
  const Report report = stacks.report();
  const FrameList list(report);
  CHECK(list.complete());
  CHECK(all(list).empty());
}

TEST_CASE("a list is cleaned while it grows, and misses nothing") {
  Stacks stacks;
  std::set<std::uintptr_t> expected;
  for (std::uintptr_t i = 0; i < 20'000; ++i) {
    const std::vector<std::uintptr_t> frames{i * 7919 % 20'000, 100'001, 100'002, 100'003,
                                             100'004,           i % 50,  100'005, 100'006};
    expected.insert(frames.begin(), frames.end());
    stacks.add(frames);
  }
  const Report report = stacks.report();
  const FrameList list(report);
  CHECK(list.complete());
  CHECK(all(list) == std::vector<std::uintptr_t>(expected.begin(), expected.end()));
}

TEST_CASE("the frames of some stacks are those of no other") {
  Stacks stacks;
  stacks.add({30, 20});
  stacks.add({40, 20});
  const Report report = stacks.report();
  const StackId second = alloctap::kFirstStack + 1;
  CHECK(all(FrameList(report, {&second, 1})) == std::vector<std::uintptr_t>{20, 40});
}

TEST_CASE("the frames of a list are symbolized, each by the instruction of its call") {
  Stacks stacks;
  stacks.add({30, 20});
  const std::vector<FakeSymbolizer::Function> known{{15, 20, "ends with the call", "a.cpp", 7},
                                                    {30, 40, "begins behind the call", "", 0}};
  FakeSymbolizer::know(known);
  const Report report = stacks.report();
  const FrameList list(report);
  REQUIRE(list.source(0).size() == 1);
  CHECK(list.source(0)[0].function == "ends with the call");
  CHECK(list.source(0)[0].file == "a.cpp");
  CHECK(list.source(0)[0].line == 7);
  CHECK(list.source(1).empty());
}

TEST_CASE("one address in two modules that were there one after the other is two frames") {
  Stacks stacks;
  stacks.add({500, 10});
  stacks.add({501, 10});
  stacks.add({502, 500, 10});
  const StackId first = alloctap::kFirstStack;
  REQUIRE(stacks.modules.add_unloaded(unloaded_module(400, 600, first + 1)));
  REQUIRE(stacks.modules.add_unloaded(unloaded_module(450, 510, first + 2)));
  const Report report = stacks.report();
  const FrameList list(report);
  CHECK(all(list) == std::vector<std::uintptr_t>{10, 500, 502, 500, 501});
  CHECK(list.index_of(first, 500) == 3);
  CHECK(list.index_of(first + 1, 501) == 4);
  CHECK(list.index_of(first + 2, 500) == 1);
  CHECK(list.place(1).module == nullptr);
  CHECK(list.place(3).module == &report.modules.modules()[0]);
  CHECK(list.place(4).module == &report.modules.modules()[1]);
}

TEST_CASE("a list that has no memory says that it is not complete") {
  Stacks stacks;
  for (std::uintptr_t i = 0; i < 100'000; ++i) stacks.add({i});
  bool complete = true;
  {
    const StarvedArena starved;
    complete = FrameList(stacks.report()).complete();
  }
  CHECK_FALSE(complete);
}
