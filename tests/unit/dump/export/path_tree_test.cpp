#include <doctest/doctest.h>

#include "alloctap/dump/export/call_paths.hpp"
#include "tests/support/exhausted_arena.hpp"

using alloctap::PathTree;

TEST_CASE("the same step below the same node is the same node") {
  PathTree tree;
  CHECK(tree.last() == 0);
  const PathTree::Node first = tree.below(PathTree::kRoot, 7);
  const PathTree::Node second = tree.below(first, 7);
  CHECK(first == 1);
  CHECK(second == 2);
  CHECK(tree.below(PathTree::kRoot, 7) == first);
  CHECK(tree.below(first, 7) == second);
  CHECK(tree.below(PathTree::kRoot, 0) == 3);
  CHECK(tree.last() == 3);
}

TEST_CASE("a node knows its parent and its step") {
  PathTree tree;
  PathTree::Node node = PathTree::kRoot;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const PathTree::Node next = tree.below(node, i / 2);
    REQUIRE(tree.parent(next) == node);
    REQUIRE(tree.step(next) == i / 2);
    node = next;
  }
  CHECK(tree.last() == 10'000);
  node = PathTree::kRoot;
  for (std::uint32_t i = 0; i < 10'000; ++i) node = tree.below(node, i / 2);
  CHECK(node == 10'000);
}

TEST_CASE("a tree without memory has no nodes") {
  PathTree tree;
  const alloctap::testing::StarvedArena starved;
  PathTree::Node node = PathTree::kRoot;
  for (std::uint32_t i = 0; i < 100'000 && node != PathTree::kNone; ++i) node = tree.below(node, i);
  CHECK(node == PathTree::kNone);
  CHECK(tree.below(PathTree::kNone, 1) == PathTree::kNone);
}
