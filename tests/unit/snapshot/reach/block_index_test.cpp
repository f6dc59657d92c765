#include "alloctap/snapshot/reach/block_index.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::BlockIndex;
using alloctap::ScannedBlock;

constexpr std::uintptr_t kIndexedHeap = 0x7f00'0000'0000;
constexpr std::uintptr_t kIndexedMiB = 1 << 20;

}  // namespace

TEST_CASE("an address is in a block from its first byte to its last") {
  const std::vector<ScannedBlock> blocks{{kIndexedHeap + 16, 24, 1}, {kIndexedHeap + 48, 8, 1}};
  BlockIndex index;
  REQUIRE(index.build(blocks));
  CHECK(index.find(kIndexedHeap + 15) == BlockIndex::kNone);
  CHECK(index.find(kIndexedHeap + 16) == 0);
  CHECK(index.find(kIndexedHeap + 39) == 0);
  CHECK(index.find(kIndexedHeap + 40) == BlockIndex::kNone);
  CHECK(index.find(kIndexedHeap + 48) == 1);
  CHECK(index.find(kIndexedHeap + 55) == 1);
  CHECK(index.find(kIndexedHeap + 56) == BlockIndex::kNone);
  CHECK(index.find(0) == BlockIndex::kNone);
  CHECK(index.find(UINTPTR_MAX) == BlockIndex::kNone);
}

TEST_CASE("a block of no bytes has its own address") {
  const std::vector<ScannedBlock> blocks{{kIndexedHeap, 0, 1}};
  BlockIndex index;
  REQUIRE(index.build(blocks));
  CHECK(index.find(kIndexedHeap) == 0);
  CHECK(index.find(kIndexedHeap + 1) == BlockIndex::kNone);
}

TEST_CASE("where there are no blocks nothing is found") {
  BlockIndex index;
  REQUIRE(index.build({}));
  CHECK(index.find(0) == BlockIndex::kNone);
  CHECK(index.find(kIndexedHeap) == BlockIndex::kNone);
}

TEST_CASE("blocks reach over any number of the index's regions") {
  const std::vector<ScannedBlock> blocks{{kIndexedHeap + kIndexedMiB - 16, 32, 1},
                                         {kIndexedHeap + 2 * kIndexedMiB - 8, 5 * kIndexedMiB, 1},
                                         {kIndexedHeap + 7 * kIndexedMiB + 64, 16, 1},
                                         {kIndexedHeap + 1000 * kIndexedMiB, 1, 1}};
  BlockIndex index;
  REQUIRE(index.build(blocks));
  CHECK(index.find(kIndexedHeap + kIndexedMiB) == 0);
  CHECK(index.find(kIndexedHeap + kIndexedMiB + 15) == 0);
  CHECK(index.find(kIndexedHeap + kIndexedMiB + 16) == BlockIndex::kNone);
  for (std::uintptr_t address = kIndexedHeap + 2 * kIndexedMiB - 8;
       address < kIndexedHeap + 7 * kIndexedMiB - 8; address += 4096) {
    CHECK(index.find(address) == 1);
  }
  CHECK(index.find(kIndexedHeap + 7 * kIndexedMiB - 8) == BlockIndex::kNone);
  CHECK(index.find(kIndexedHeap + 7 * kIndexedMiB + 64) == 2);
  CHECK(index.find(kIndexedHeap + 500 * kIndexedMiB) == BlockIndex::kNone);
  CHECK(index.find(kIndexedHeap + 1000 * kIndexedMiB) == 3);
}

TEST_CASE("each of 100,000 blocks is found by each of its words, and nothing between them") {
  std::vector<ScannedBlock> blocks;
  std::uintptr_t at = kIndexedHeap;
  std::uint64_t random = 1;
  for (int i = 0; i < 100'000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t size = (random >> 33) % (i % 100 == 0 ? 100'000 : 300);
    blocks.push_back({at, size, 1});
    at += (size + 31) / 16 * 16;
  }
  BlockIndex index;
  REQUIRE(index.build(blocks));
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const ScannedBlock& block = blocks[i];
    for (std::uintptr_t word = block.start; word < block.end(); word += 8) {
      wrong += index.find(word) != i;
    }
    wrong += index.find(block.end()) != BlockIndex::kNone;
  }
  CHECK(wrong == 0);
}

TEST_CASE("without memory there is no index") {
  const std::vector<ScannedBlock> blocks{{kIndexedHeap, 64, 1}};
  BlockIndex index;
  bool built = true;
  {
    const alloctap::testing::StarvedArena starved;
    built = index.build(blocks);
  }
  CHECK_FALSE(built);
}
