// What the pointer indexes take of the system, while they fill up with heaps of several kinds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/shadow_index.hpp"
#include "alloctap/runtime/arena.hpp"
#include "bench/made_up_heap.hpp"

namespace {

using namespace alloctap;
using bench::Block;
using Blocks = std::vector<Block>;

constexpr std::size_t kManyBlocks = 1'000'000;

Blocks equally_far(std::size_t distance) {
  const std::uintptr_t start = bench::start_of_heap(1);
  Blocks blocks(kManyBlocks);
  for (std::size_t i = 0; i < kManyBlocks; ++i) {
    blocks[i] = {reinterpret_cast<void*>(start + i * distance), distance - 8};
  }
  return blocks;
}

Blocks heap_of_many_sizes() { return bench::made_up_heap(bench::start_of_heap(0), kManyBlocks); }

/// Calls `check(blocks so far, bytes taken so far)` after each block.
template <class Index, class Check>
void fill(const Blocks& blocks, Check&& check) {
  const auto index = std::make_unique<Index>();
  const std::size_t before = Arena::mapped_bytes();
  std::size_t count = 0;
  for (const Block& block : blocks) {
    index->insert(block.address, {.stack = 1, .size = block.size});
    check(++count, Arena::mapped_bytes() - before);
  }
}

std::size_t span_of(const Blocks& blocks, std::size_t count) {
  return reinterpret_cast<std::uintptr_t>(blocks[count - 1].address) + blocks[count - 1].size -
         reinterpret_cast<std::uintptr_t>(blocks[0].address);
}

}  // namespace

TEST_CASE("a flat index takes at most 40 bytes for a block, however full its tables are") {
  Blocks blocks;
  SUBCASE("one block in a page: all tables grow at about one time") { blocks = equally_far(4096); }
  SUBCASE("the smallest blocks") { blocks = equally_far(32); }
  SUBCASE("blocks of many sizes") { blocks = heap_of_many_sizes(); }
  // Below, what the arena sets aside for all tables of the tracker weighs more.
  constexpr std::size_t kEnough = 100'000;
  double worst = 0;
  double worst_of_few = 0;
  fill<FlatHashIndex>(blocks, [&](std::size_t count, std::size_t bytes) {
    const auto set_aside = static_cast<double>(count < kEnough ? Arena::kChunkBytes : 0);
    const double per_block = (static_cast<double>(bytes) - set_aside) / static_cast<double>(count);
    double& most = count < kEnough ? worst_of_few : worst;
    most = std::max(most, per_block);
  });
  CHECK(worst <= 40);
  CHECK(worst > 20);
  CHECK(worst_of_few <= 40);
}

TEST_CASE("a shadow index takes a quarter of the heap and what rounds it up") {
  Blocks blocks;
  SUBCASE("one block in a page") { blocks = equally_far(4096); }
  SUBCASE("the smallest blocks") { blocks = equally_far(32); }
  SUBCASE("blocks of many sizes") { blocks = heap_of_many_sizes(); }
  // A leaf for a part of 8 MiB at either end, and two nodes of the level above.
  constexpr std::size_t kRounding = 5 << 20;
  std::size_t too_large = 0;
  fill<ShadowIndex>(blocks, [&](std::size_t count, std::size_t bytes) {
    if (bytes > span_of(blocks, count) / 4 + kRounding) ++too_large;
  });
  CHECK(too_large == 0);
}
