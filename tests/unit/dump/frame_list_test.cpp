#include "alloctap/dump/frame_list.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <vector>

#include "tests/support/starved_arena.hpp"

namespace {

using alloctap::FrameList;
using alloctap::Snapshot;
using alloctap::StackTable;
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
  Snapshot snapshot;
};

std::vector<std::uintptr_t> all(const FrameList& list) { return {list.begin(), list.end()}; }

}  // namespace

TEST_CASE("every frame of the stacks is in the list once, by ascending address") {
  Stacks stacks;
  stacks.add({30, 20, 10});
  stacks.add({40, 20, 10});
  stacks.add({});
  stacks.add_mapping({5, 10, 10});
  const FrameList list(stacks.snapshot);
  CHECK(list.complete());
  CHECK(all(list) == std::vector<std::uintptr_t>{5, 10, 20, 30, 40});
  for (std::size_t i = 0; i < 5; ++i) CHECK(list.index_of(list.begin()[i]) == i);
}

TEST_CASE("a snapshot of nothing has no frames") {
  const Stacks stacks;
  const FrameList list(stacks.snapshot);
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
  const FrameList list(stacks.snapshot);
  CHECK(list.complete());
  CHECK(all(list) == std::vector<std::uintptr_t>(expected.begin(), expected.end()));
}

TEST_CASE("a list that has no memory says that it is not complete") {
  Stacks stacks;
  for (std::uintptr_t i = 0; i < 100'000; ++i) stacks.add({i});
  bool complete = true;
  {
    const StarvedArena starved;
    complete = FrameList(stacks.snapshot).complete();
  }
  CHECK_FALSE(complete);
}
