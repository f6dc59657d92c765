#include "alloctap/meta/shadow_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::InsertOutcome;
using alloctap::kNoStackId;
using alloctap::ShadowIndex;
using alloctap::testing::StarvedArena;

constexpr std::uintptr_t kLeaf = std::uintptr_t{1} << 23;
constexpr std::uintptr_t kMiddle = std::uintptr_t{1} << 34;
constexpr std::uintptr_t kEnd = std::uintptr_t{1} << 48;
constexpr std::uint64_t kOneGiB = std::uint64_t{1} << 30;

void* block_at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

using Wide = alloctap::BasicShadowIndex<32>;

template <class Index>
std::map<const void*, std::uint64_t> sizes_in(Index& index) {
  std::map<const void*, std::uint64_t> sizes;
  index.for_each([&](const void* pointer, const BlockRecord& record) {
    CHECK(sizes.emplace(pointer, record.size).second);
  });
  return sizes;
}

/// Keeps a block at each address, then looks for each, takes each, and finds none.
template <class Index>
void check_addresses(const std::vector<std::uintptr_t>& addresses) {
  const auto index = std::make_unique<Index>();
  std::map<const void*, std::uint64_t> expected;
  for (const std::uintptr_t address : addresses) {
    const BlockRecord record{.stack = 5, .size = address & 0xFFFF};
    const InsertOutcome outcome = index->insert(block_at(address), record);
    CHECK(outcome.kept);
    CHECK(outcome.replaced.stack == kNoStackId);
    expected[block_at(address)] = record.size;
  }
  CHECK(sizes_in(*index) == expected);
  for (const std::uintptr_t address : addresses) {
    CAPTURE(address);
    const BlockRecord record = index->take(block_at(address));
    CHECK(record.stack == 5);
    CHECK(record.size == (address & 0xFFFF));
    CHECK(index->take(block_at(address)).stack == kNoStackId);
  }
  CHECK(sizes_in(*index).empty());
}

using SizedAddresses = std::vector<std::pair<std::uintptr_t, std::uint64_t>>;

/// Blocks of addresses and sizes, the one that holds all others first, in both orders.
template <class Index>
void check_nested(SizedAddresses blocks, std::uintptr_t offset) {
  for (auto& block : blocks) block.first += offset;
  for (const bool outer_first : {true, false}) {
    const auto index = std::make_unique<Index>();
    std::map<const void*, std::uint64_t> expected;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto& [address, size] = blocks[outer_first ? i : blocks.size() - 1 - i];
      const InsertOutcome outcome = index->insert(block_at(address), {.stack = 9, .size = size});
      CHECK(outcome.kept);
      CHECK(outcome.replaced.stack == kNoStackId);
      expected[block_at(address)] = size;
      CHECK(sizes_in(*index) == expected);
    }
    for (const auto& [address, size] : blocks) {
      CHECK(index->take(block_at(address)).size == size);
      expected.erase(block_at(address));
      CHECK(sizes_in(*index) == expected);
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("blocks in neighbouring granules are apart", Index, ShadowIndex, Wide) {
  check_addresses<Index>({0x10000, 0x10010, 0x10020, 0x10030, 0x10050});
}

TEST_CASE_TEMPLATE("blocks on both sides of a leaf's border, and of a middle's, are apart", Index,
                   ShadowIndex, Wide) {
  for (const std::uintptr_t border : {kLeaf, 7 * kLeaf, kMiddle, 9 * kMiddle, kEnd - kLeaf}) {
    check_addresses<Index>({border - 32, border - 16, border, border + 16});
  }
}

TEST_CASE_TEMPLATE("blocks at the ends of the address space are kept", Index, ShadowIndex, Wide) {
  check_addresses<Index>({16, kEnd - 16});
  check_addresses<Index>({kEnd, kEnd + 16, kEnd + 0x10010, UINTPTR_MAX & ~std::uintptr_t{15}});
}

TEST_CASE_TEMPLATE("blocks at odd addresses are apart from those at the granules around them",
                   Index, ShadowIndex, Wide) {
  check_addresses<Index>(
      {0x10000, 0x10001, 0x10008, 0x1000F, 0x10010, 0x10018, 3 * kLeaf - 1, 3 * kLeaf});
}

TEST_CASE_TEMPLATE("a block of any size keeps it", Index, ShadowIndex, Wide) {
  const auto index = std::make_unique<Index>();
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{16}, std::uint64_t{17}, kOneGiB - 1,
        kOneGiB, kOneGiB + 1, std::uint64_t{1} << 46, UINT64_MAX}) {
    CAPTURE(size);
    for (const std::uintptr_t address : {std::uintptr_t{0x20000}, std::uintptr_t{0x20001}}) {
      CHECK(index->insert(block_at(address), {.stack = 0xFFFFFFFF, .size = size}).kept);
      CHECK(sizes_in(*index)[block_at(address)] == size);
      const BlockRecord record = index->take(block_at(address));
      CHECK(record.stack == 0xFFFFFFFF);
      CHECK(record.size == size);
      CHECK(sizes_in(*index).empty());
    }
  }
}

TEST_CASE_TEMPLATE("a record replaces the one at its address, small or large", Index, ShadowIndex,
                   Wide) {
  const auto index = std::make_unique<Index>();
  const std::vector<std::uint64_t> sizes{10, kOneGiB + 3, kOneGiB + 4, 11, 12};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto stack = static_cast<alloctap::StackId>(i + 1);
    const InsertOutcome outcome =
        index->insert(block_at(0x30000), {.stack = stack, .size = sizes[i]});
    CHECK(outcome.kept);
    CHECK(outcome.replaced.stack == i);
    CHECK(outcome.replaced.size == (i == 0 ? 0 : sizes[i - 1]));
    CHECK(sizes_in(*index).size() == 1);
  }
  CHECK(index->take(block_at(0x30000)).size == 12);
}

TEST_CASE_TEMPLATE("a block in a block takes nothing from it, whichever comes first", Index,
                   ShadowIndex, Wide) {
  const SizedAddresses blocks{
      {0x40000, 4096}, {0x40010, 100}, {0x40020, 8}, {0x40030, 48}, {0x40040, 17}};
  // From a multiple of 32, and from half way to the next.
  for (const std::uintptr_t offset : {std::uintptr_t{0}, std::uintptr_t{16}})
    check_nested<Index>(blocks, offset);
}

TEST_CASE_TEMPLATE("blocks on both sides of the end of 4 KiB share no word", Index, ShadowIndex,
                   Wide) {
  for (const std::uint64_t size : {std::uint64_t{8}, std::uint64_t{17}, std::uint64_t{64}}) {
    const auto index = std::make_unique<Index>();
    index->insert(block_at(0x7FF0), {.stack = 3, .size = size});
    CHECK(index->take(block_at(0x8000)).stack == kNoStackId);
    CHECK(index->insert(block_at(0x8000), {.stack = 4, .size = size}).kept);
    CHECK(sizes_in(*index) ==
          std::map<const void*, std::uint64_t>{{block_at(0x7FF0), size}, {block_at(0x8000), size}});
    CHECK(index->take(block_at(0x7FF0)).size == size);
    CHECK(index->take(block_at(0x8000)).size == size);
  }
}

TEST_CASE_TEMPLATE("an address inside a block is no block's", Index, ShadowIndex, Wide) {
  const auto index = std::make_unique<Index>();
  index->insert(block_at(0x50000), {.stack = 3, .size = 64});
  CHECK(index->take(block_at(0x50010)).stack == kNoStackId);
  CHECK(index->take(block_at(0x50000)).size == 64);
}

TEST_CASE_TEMPLATE("an index that was told what comes keeps it the same, or says that it did not",
                   Index, ShadowIndex, Wide) {
  const auto index = std::make_unique<Index>();
  const auto insert_expected = [&](std::uintptr_t address, std::uint64_t size) {
    const auto expected = index->expect(block_at(address));
    return index->try_insert(block_at(address), {.stack = 4, .size = size}, expected);
  };
  // Nothing was made there yet, neither with nor without something far off in the same leaf.
  CHECK_FALSE(insert_expected(0x60000, 80));
  CHECK(index->insert(block_at(0x460000), {.stack = 4, .size = 80}).kept);
  CHECK_FALSE(insert_expected(0x60000, 80));
  CHECK(index->take(block_at(0x460000)).size == 80);
  CHECK(sizes_in(*index).empty());
  CHECK(index->insert(block_at(0x60000), {.stack = 4, .size = 80}).kept);
  // What is there stays.
  CHECK_FALSE(insert_expected(0x60000, 8));
  CHECK(index->take(block_at(0x60000)).size == 80);
  for (const std::uint64_t size : {std::uint64_t{8}, std::uint64_t{80}}) {
    CHECK(insert_expected(0x60000, size));
    CHECK(index->take(block_at(0x60000)).size == size);
  }
  CHECK_FALSE(insert_expected(0x60000, kOneGiB));
  CHECK_FALSE(insert_expected(0x60008, 8));
  CHECK_FALSE(insert_expected(kEnd, 8));
  CHECK(sizes_in(*index).empty());
}

TEST_CASE_TEMPLATE("without memory an index keeps nothing where it has no leaf, and says so", Index,
                   ShadowIndex, Wide) {
  const auto index = std::make_unique<Index>();
  index->insert(block_at(0x10000), {.stack = 1, .size = 1});
  InsertOutcome same_leaf;
  InsertOutcome other_leaf;
  InsertOutcome large;
  InsertOutcome odd;
  {
    const StarvedArena starved;
    same_leaf = index->insert(block_at(0x20000), {.stack = 2, .size = 2});
    other_leaf = index->insert(block_at(5 * kMiddle), {.stack = 3, .size = 3});
    large = index->insert(block_at(0x10000), {.stack = 4, .size = kOneGiB});
    odd = index->insert(block_at(0x10001), {.stack = 5, .size = 5});
  }
  CHECK(same_leaf.kept);
  CHECK_FALSE(other_leaf.kept);
  CHECK_FALSE(large.kept);
  CHECK(large.replaced.stack == 1);
  CHECK_FALSE(odd.kept);
  CHECK(sizes_in(*index) == std::map<const void*, std::uint64_t>{{block_at(0x20000), 2}});
}

TEST_CASE(
    "blocks of one word that stands for both are told apart, whichever comes and goes first") {
  for (const bool lower_first : {true, false}) {
    for (const std::uint64_t size : {std::uint64_t{8}, std::uint64_t{48}, std::uint64_t{49}}) {
      const auto index = std::make_unique<Wide>();
      const std::uintptr_t first = lower_first ? 0x10020 : 0x10030;
      const std::uintptr_t second = lower_first ? 0x10030 : 0x10020;
      CHECK(index->insert(block_at(first), {.stack = 3, .size = size}).kept);
      CHECK(index->take(block_at(second)).stack == kNoStackId);
      CHECK(index->insert(block_at(second), {.stack = 4, .size = size + 1}).kept);
      CHECK(sizes_in(*index) == std::map<const void*, std::uint64_t>{{block_at(first), size},
                                                                     {block_at(second), size + 1}});
      CHECK(index->take(block_at(first)).stack == 3);
      // Its word is free, but the block is known.
      CHECK(index->expect(block_at(second)) == nullptr);
      CHECK(index->insert(block_at(first), {.stack = 5, .size = size}).kept);
      CHECK(index->insert(block_at(second), {.stack = 6, .size = size}).replaced.stack == 4);
      CHECK(index->take(block_at(second)).stack == 6);
      CHECK(index->take(block_at(second)).stack == kNoStackId);
      CHECK(index->take(block_at(first)).stack == 5);
      CHECK(sizes_in(*index).empty());
    }
  }
}

/// As glibc places them.
TEST_CASE("blocks that begin 32 bytes apart or more need no other place") {
  std::vector<std::uintptr_t> addresses;
  std::vector<std::uint64_t> sizes;
  std::uintptr_t address = 0x10010;
  for (std::uint64_t size = 0; size < 200; size += 8) {
    addresses.push_back(address);
    sizes.push_back(size);
    address += std::max<std::uintptr_t>((size + 8 + 15) / 16 * 16, 32);
  }
  const auto index = std::make_unique<Wide>();
  CHECK(index->insert(block_at(0x10000 + 0x800), {.stack = 2, .size = 1}).kept);
  const alloctap::testing::StarvedArena starved;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    CAPTURE(i);
    CHECK(index->insert(block_at(addresses[i]), {.stack = 7, .size = sizes[i]}).kept);
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    CAPTURE(i);
    CHECK(index->take(block_at(addresses[i])).size == sizes[i]);
  }
}

TEST_CASE_TEMPLATE("a block gives back the word of its size, wherever in its own word it begins",
                   Index, ShadowIndex, Wide) {
  for (const std::uintptr_t outer : {std::uintptr_t{0x40000}, std::uintptr_t{0x40010}}) {
    const auto index = std::make_unique<Index>();
    CHECK(index->insert(block_at(outer), {.stack = 3, .size = 4096}).kept);
    CHECK(index->insert(block_at(0x40030), {.stack = 4, .size = 100}).kept);
    CHECK(index->take(block_at(outer)).stack == 3);
    CHECK(sizes_in(*index) == std::map<const void*, std::uint64_t>{{block_at(0x40030), 100}});
    CHECK(index->take(block_at(0x40030)).stack == 4);
  }
}
