#include "alloctap/runtime/arena_array.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>

#include "tests/support/exhausted_arena.hpp"
#include "tests/support/huge_pages.hpp"

namespace {

using alloctap::Arena;
using alloctap::ArenaArray;

constexpr std::size_t kHugeBytes = Arena::kFewestHugePages * Arena::kHugePage;
constexpr std::size_t kMoreThanHuge = kHugeBytes / sizeof(std::size_t) + 1;
/// Of all systems.
constexpr std::size_t kLargestPage = 64 * 1024;

constinit ArenaArray<int> static_array;

ArenaArray<std::size_t> counted_to(std::size_t count) {
  ArenaArray<std::size_t> array;
  for (std::size_t i = 0; i < count; ++i) CHECK(array.push_back(i));
  return array;
}

bool counts_to(const ArenaArray<std::size_t>& array, std::size_t count) {
  std::size_t next = 0;
  for (const std::size_t value : array) {
    if (value != next++) return false;
  }
  return next == count && array.size() == count;
}

}  // namespace

TEST_CASE("a static array is empty without a constructor") {
  CHECK(static_array.empty());
  CHECK(static_array.begin() == static_array.end());
}

TEST_CASE("an array keeps its elements while it grows") {
  const ArenaArray<std::size_t> array = counted_to(100'000);
  CHECK(counts_to(array, 100'000));
  CHECK(array.capacity() >= 100'000);
}

TEST_CASE("an array gives its memory back") {
  static_cast<void>(counted_to(20'000));
  const std::size_t before = Arena::mapped_bytes();
  for (int i = 0; i < 50; ++i) CHECK(counts_to(counted_to(20'000), 20'000));
  CHECK(Arena::mapped_bytes() == before);
}

TEST_CASE("a moved array leaves an empty one behind, an assigned one swaps") {
  ArenaArray<std::size_t> first = counted_to(100);
  ArenaArray<std::size_t> second(std::move(first));
  CHECK(counts_to(second, 100));
  CHECK(first.empty());
  ArenaArray<std::size_t> third = counted_to(3);
  third = std::move(second);
  CHECK(counts_to(third, 100));
}

TEST_CASE("resizing adds zeros and cuts, clearing keeps the room") {
  ArenaArray<std::size_t> array = counted_to(40);
  CHECK(array.resize(50));
  CHECK(array[39] == 39);
  CHECK(array[40] == 0);
  CHECK(array.back() == 0);
  CHECK(array.resize(5));
  CHECK(counts_to(array, 5));
  const std::size_t capacity = array.capacity();
  array.clear();
  CHECK(array.empty());
  CHECK(array.capacity() == capacity);
}

TEST_CASE("an array that is resized step by step moves seldom") {
  ArenaArray<std::size_t> array;
  ArenaArray<std::size_t> overwritten;
  std::size_t moves = 0;
  for (std::size_t size = 1; size <= 4096; ++size) {
    const std::size_t capacity = array.capacity() + overwritten.capacity();
    REQUIRE(array.resize(size));
    REQUIRE(overwritten.resize_for_overwrite(size));
    moves += array.capacity() + overwritten.capacity() != capacity;
  }
  CHECK(moves < 20);
}

TEST_CASE("an array that cannot grow says so and stays as it is") {
  ArenaArray<std::size_t> array = counted_to(16);
  REQUIRE(array.capacity() == 16);
  bool pushed = true;
  bool reserved = true;
  bool resized = true;
  {
    const alloctap::testing::StarvedArena starved;
    pushed = array.push_back(16);
    reserved = array.reserve(17);
    resized = array.resize(17);
  }
  CHECK_FALSE(pushed);
  CHECK_FALSE(reserved);
  CHECK_FALSE(resized);
  CHECK(counts_to(array, 16));
  CHECK(array.push_back(16));
  CHECK(counts_to(array, 17));
}

TEST_CASE("a large array takes the pages that it needs, and gives all of them back") {
  const std::size_t before = Arena::mapped_bytes();
  {
    ArenaArray<std::size_t> array;
    REQUIRE(array.reserve(kMoreThanHuge / 2));
    CHECK(Arena::mapped_bytes() - before < kHugeBytes);
    REQUIRE(array.reserve(kMoreThanHuge));
    CHECK(Arena::mapped_bytes() - before > kHugeBytes);
    CHECK(Arena::mapped_bytes() - before < kHugeBytes + kLargestPage + 1);
    REQUIRE(array.resize(kMoreThanHuge));
    CHECK(array.back() == 0);
  }
  CHECK(Arena::mapped_bytes() == before);
}

TEST_CASE("shrinking drops the last elements, and adds none") {
  ArenaArray<std::size_t> array = counted_to(20);
  array.shrink(30);
  CHECK(counts_to(array, 20));
  array.shrink(7);
  CHECK(counts_to(array, 7));
  CHECK(array.capacity() >= 20);
}

TEST_CASE("what of a large array fills huge pages lies in them") {
  if (!alloctap::testing::huge_pages_exist()) return;
  ArenaArray<std::size_t> array;
  REQUIRE(array.reserve(kMoreThanHuge));
  CHECK(alloctap::testing::mapping_has_flag(array.data(), "hg"));
  CHECK_FALSE(alloctap::testing::mapping_has_flag(&array.data()[kMoreThanHuge - 1], "hg"));
}
