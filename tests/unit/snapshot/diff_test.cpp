#include "alloctap/snapshot/diff.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::StarvedArena;

Snapshot snapshot_with(std::initializer_list<StackSummary> stacks) {
  Snapshot snapshot;
  for (const StackSummary& stack : stacks) REQUIRE(snapshot.stacks.push_back(stack));
  return snapshot;
}

SnapshotDiff diff_of(const Snapshot& before, const Snapshot& after) {
  alloctap::Result<SnapshotDiff> result = diff(before, after);
  REQUIRE(result.ok());
  return *std::move(result);
}

}  // namespace

TEST_CASE("stacks that grew, shrank, came and stayed are told apart") {
  const Snapshot before =
      snapshot_with({{3, {10, 1000, 2}, 4, 400}, {5, {7, 70, 0}, 7, 70}, {9, {1, 8, 0}, 1, 8}});
  const Snapshot after = snapshot_with({{2, {6, 60, 5}, 1, 10},
                                        {3, {15, 1500, 3}, 9, 900},
                                        {5, {7, 70, 0}, 0, 0},
                                        {9, {1, 8, 0}, 1, 8},
                                        {11, {1, 1, 1}, 0, 0}});
  const SnapshotDiff change = diff_of(before, after);
  REQUIRE(change.stacks.size() == 4);
  CHECK(change.stacks[0].stack == 2);
  CHECK(change.stacks[0].change == HeapChange{1, 10, 6, 60, 5});
  CHECK(change.stacks[1].stack == 3);
  CHECK(change.stacks[1].change == HeapChange{5, 500, 5, 500, 1});
  CHECK(change.stacks[2].stack == 5);
  CHECK(change.stacks[2].change == HeapChange{-7, -70, 0, 0, 0});
  CHECK(change.stacks[3].stack == 11);
  CHECK(change.stacks[3].change == HeapChange{0, 0, 1, 1, 1});
  CHECK(change.total == HeapChange{-1, 440, 12, 561, 7});
}

TEST_CASE("a difference the other way round has the other sign") {
  const Snapshot before = snapshot_with({{3, {10, 1000, 2}, 4, 400}});
  const Snapshot after = snapshot_with({{3, {15, 1500, 3}, 9, 900}, {4, {1, 2, 1}, 1, 2}});
  const SnapshotDiff change = diff_of(after, before);
  REQUIRE(change.stacks.size() == 2);
  CHECK(change.stacks[0].change == HeapChange{-5, -500, -5, -500, -1});
  CHECK(change.stacks[1].change == HeapChange{-1, -2, -1, -2, -1});
}

TEST_CASE("nothing changed between a moment and itself") {
  const Snapshot one = snapshot_with({{3, {10, 1000, 2}, 4, 400}, {4, {1, 1, 1}, 1, 1}});
  const SnapshotDiff change = diff_of(one, one);
  CHECK(change.stacks.empty());
  CHECK(change.total == HeapChange{});
  CHECK(diff_of(Snapshot{}, Snapshot{}).stacks.empty());
}

TEST_CASE("changes are sorted from the most grown to the most shrunk") {
  const Snapshot before = snapshot_with({{2, {9, 9, 0}, 9, 9}, {3, {1, 1, 0}, 1, 1}});
  const Snapshot after = snapshot_with(
      {{2, {9, 9, 0}, 0, 0}, {3, {2, 5, 0}, 1, 1}, {4, {2, 9, 0}, 1, 0}, {5, {1, 7, 0}, 1, 7}});
  SnapshotDiff change = diff_of(before, after);
  sort_by_growth(change.stacks);
  REQUIRE(change.stacks.size() == 4);
  CHECK(change.stacks[0].stack == 5);
  CHECK(change.stacks[1].stack == 4);
  CHECK(change.stacks[2].stack == 3);
  CHECK(change.stacks[3].stack == 2);
}

TEST_CASE("without memory for it there is an error") {
  Snapshot after;
  for (StackId i = 1; i < 100'000; ++i) REQUIRE(after.stacks.push_back({i, {1, 1, 0}, 1, 1}));
  const StarvedArena starved;
  CHECK(diff(Snapshot{}, after).status().code() == alloctap::StatusCode::kResourceExhausted);
}
