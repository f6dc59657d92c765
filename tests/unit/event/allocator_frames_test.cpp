#include <doctest/doctest.h>

#include "alloctap/event/allocation_event.hpp"

using alloctap::AllocatorFrames;

TEST_CASE("a set holds what was added, in whatever order, and nothing else") {
  AllocatorFrames frames;
  CHECK_FALSE(frames.contains(0));
  for (const std::uintptr_t address : {50U, 10U, 90U, 30U}) CHECK(frames.add(address));
  for (const std::uintptr_t address : {10U, 30U, 50U, 90U}) CHECK(frames.contains(address));
  for (const std::uintptr_t address : {0U, 9U, 20U, 51U, 91U})
    CHECK_FALSE(frames.contains(address));
}

TEST_CASE("what is added twice takes one place") {
  AllocatorFrames frames;
  CHECK(frames.add(7));
  CHECK(frames.add(7));
  CHECK(frames.size() == 1);
}

TEST_CASE("a full set keeps what it has and says that it is full") {
  AllocatorFrames frames;
  for (std::uintptr_t i = 0; i < AllocatorFrames::kMaxCount; ++i) REQUIRE(frames.add(1000 - i));
  CHECK_FALSE(frames.add(5000));
  CHECK_FALSE(frames.contains(5000));
  CHECK(frames.add(1000));
  CHECK(frames.contains(1000 - AllocatorFrames::kMaxCount + 1));
}
