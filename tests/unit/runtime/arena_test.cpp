#include "alloctap/runtime/arena.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "tests/support/brought_in.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/huge_pages.hpp"
#include "tests/support/is_aligned.hpp"

namespace {

using alloctap::Arena;
using alloctap::testing::is_aligned;
using alloctap::testing::mapping_has_flag;

bool is_mapped(void* page) {
  std::byte first{};
  return alloctap::os::copy_memory(reinterpret_cast<std::uintptr_t>(page), {&first, 1}) == 1;
}

/// A block whose every byte tells its owner.
struct OwnedBlock {
  unsigned char* start = nullptr;
  std::size_t bytes = 0;

  bool holds(unsigned char owner) const {
    return std::all_of(start, start + bytes, [=](unsigned char byte) { return byte == owner; });
  }
};

/// Allocates, fills, checks and frees blocks of all sizes; false as soon as one was touched.
bool hammer(unsigned char owner) {
  std::mt19937 random(owner);
  std::array<OwnedBlock, 64> blocks{};
  bool whole = true;
  for (int round = 0; round < 20'000; ++round) {
    OwnedBlock& block = blocks[random() % blocks.size()];
    if (block.start != nullptr) {
      whole = whole && block.holds(owner);
      Arena::deallocate(block.start, block.bytes);
    }
    block.bytes = 1 + random() % (round % 100 == 0 ? 100'000 : 600);
    block.start = static_cast<unsigned char*>(Arena::allocate(block.bytes));
    std::memset(block.start, owner, block.bytes);
  }
  for (const OwnedBlock& block : blocks) Arena::deallocate(block.start, block.bytes);
  return whole;
}

}  // namespace

TEST_CASE("every block is aligned to 16, and to its size where that is a power of two") {
  for (std::size_t bytes = 1; bytes <= 3 * Arena::kLargestBlock; bytes += 1 + bytes / 3) {
    CAPTURE(bytes);
    void* block = Arena::allocate(bytes);
    REQUIRE(block != nullptr);
    CHECK(is_aligned(block, 16));
    std::memset(block, 0xff, bytes);
    Arena::deallocate(block, bytes);
  }
  for (std::size_t bytes = 16; bytes <= alloctap::os::page_size(); bytes *= 2) {
    CAPTURE(bytes);
    void* block = Arena::allocate(bytes);
    CHECK(is_aligned(block, bytes));
    Arena::deallocate(block, bytes);
  }
}

TEST_CASE("a block is reused by the next request of its size class") {
  void* first = Arena::allocate(100);
  Arena::deallocate(first, 100);
  void* second = Arena::allocate(128);
  CHECK(second == first);
  void* third = Arena::allocate(128);
  CHECK(third != second);
  Arena::deallocate(second, 128);
  void* other_class = Arena::allocate(129);
  CHECK(other_class != second);
  Arena::deallocate(third, 128);
  Arena::deallocate(other_class, 129);
}

TEST_CASE("the largest block is kept for reuse, one byte more is mapped and given back") {
  const std::size_t before = Arena::mapped_bytes();
  void* block = Arena::allocate(Arena::kLargestBlock);
  const std::size_t grown = Arena::mapped_bytes() - before;
  CHECK((grown == 0 || grown == Arena::kChunkBytes));
  Arena::deallocate(block, Arena::kLargestBlock);
  CHECK(Arena::mapped_bytes() == before + grown);
  void* again = Arena::allocate(Arena::kLargestBlock);
  CHECK(again == block);
  Arena::deallocate(again, Arena::kLargestBlock);

  void* pages = Arena::allocate(Arena::kLargestBlock + 1);
  CHECK(Arena::mapped_bytes() == before + grown + Arena::kLargestBlock + alloctap::os::page_size());
  CHECK(is_aligned(pages, alloctap::os::page_size()));
  CHECK(is_mapped(pages));
  Arena::deallocate(pages, Arena::kLargestBlock + 1);
  CHECK_FALSE(is_mapped(pages));
  CHECK(Arena::mapped_bytes() == before + grown);
}

TEST_CASE("pages come zeroed") {
  constexpr std::size_t kBytes = 3 * Arena::kLargestBlock;
  for (int i = 0; i < 3; ++i) {
    OwnedBlock pages{static_cast<unsigned char*>(Arena::allocate(kBytes)), kBytes};
    CHECK(pages.holds(0));
    std::memset(pages.start, 0xff, kBytes);
    Arena::deallocate(pages.start, kBytes);
  }
}

TEST_CASE("blocks of four threads never overlap") {
  std::array<bool, 4> whole{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    threads.emplace_back([&, i] { whole[i] = hammer(static_cast<unsigned char>(i + 1)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool all : whole) CHECK(all);
}

TEST_CASE("a request that the system cannot serve gets nothing, and later ones are served again") {
  std::array<void*, 2> refused{&refused, &refused};
  void* given_back = nullptr;
  const std::size_t before = Arena::mapped_bytes();
  {
    alloctap::testing::StarvedArena starved;
    refused = {Arena::allocate(64), Arena::allocate(Arena::kChunkBytes)};
    starved.give_back(1, 64);
    given_back = Arena::allocate(64);
  }
  CHECK(refused[0] == nullptr);
  CHECK(refused[1] == nullptr);
  CHECK(given_back != nullptr);
  Arena::deallocate(given_back, 64);
  CHECK(Arena::mapped_bytes() <= before + Arena::kChunkBytes);
  void* block = Arena::allocate(Arena::kChunkBytes);
  CHECK(block != nullptr);
  Arena::deallocate(block, Arena::kChunkBytes);
}

TEST_CASE("aligned pages are zeroed, aligned, and given back whole") {
  constexpr std::size_t kAlignment = 2 << 20;
  constexpr std::size_t kBytes = kAlignment + 4096;
  for (int round = 0; round < 4; ++round) {
    const std::size_t before = Arena::mapped_bytes();
    auto* pages = static_cast<unsigned char*>(Arena::allocate_aligned_pages(kBytes, kAlignment));
    REQUIRE(pages != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(pages) % kAlignment == 0);
    CHECK(Arena::mapped_bytes() == before + kBytes);
    CHECK(pages[0] == 0);
    CHECK(pages[kBytes - 1] == 0);
    pages[0] = pages[kBytes - 1] = 1;
    Arena::deallocate_pages(pages, kBytes);
    CHECK(Arena::mapped_bytes() == before);
  }
}

TEST_CASE("what is dense and large comes in huge pages as far as it fills them") {
  constexpr std::size_t kHuge = Arena::kFewestHugePages * Arena::kHugePage;
  const bool exist = alloctap::testing::huge_pages_exist();
  for (const std::size_t rest : {std::size_t{0}, std::size_t{16}, Arena::kHugePage - 4096}) {
    const std::size_t bytes = kHuge + rest;
    auto* const pages = static_cast<char*>(Arena::allocate_dense(bytes));
    REQUIRE(pages != nullptr);
    CHECK(is_aligned(pages, Arena::kHugePage));
    if (exist) {
      CHECK(mapping_has_flag(pages, "hg"));
      CHECK(mapping_has_flag(pages + kHuge - 1, "hg"));
    }
    if (rest > 0) CHECK_FALSE(mapping_has_flag(pages + bytes - 1, "hg"));
    Arena::deallocate(pages, bytes);
  }
  for (const std::size_t bytes : {std::size_t{16}, Arena::kHugePage, kHuge - 4096}) {
    void* pages = Arena::allocate_dense(bytes);
    REQUIRE(pages != nullptr);
    CHECK_FALSE(mapping_has_flag(pages, "hg"));
    Arena::deallocate(pages, bytes);
  }
}

TEST_CASE("what is asked for zeroed is, whoever had it before") {
  for (const std::size_t bytes :
       {std::size_t{16}, std::size_t{4096}, Arena::kLargestBlock, Arena::kLargestBlock + 16,
        Arena::kFewestHugePages * Arena::kHugePage}) {
    for (const auto allocate : {&Arena::allocate_dense_zeroed, &Arena::allocate_table}) {
      void* const used = Arena::allocate_dense(bytes);
      REQUIRE(used != nullptr);
      std::memset(used, 0xA5, bytes);
      Arena::deallocate(used, bytes);
      const auto* const zeroed = static_cast<const char*>(allocate(bytes));
      REQUIRE(zeroed != nullptr);
      CHECK(std::all_of(zeroed, zeroed + bytes, [](char byte) { return byte == 0; }));
      Arena::deallocate(const_cast<char*>(zeroed), bytes);
    }
  }
}

TEST_CASE("a table's pages are there as far as the system brings in pages") {
  constexpr std::size_t kBytes = Arena::kHugePage;
  const std::ptrdiff_t brought_in = alloctap::testing::brought_in_of(kBytes);
  void* table = nullptr;
  const std::ptrdiff_t grown =
      alloctap::testing::resident_growth([&] { table = Arena::allocate_table(kBytes); });
  REQUIRE(table != nullptr);
  CHECK(grown > brought_in - static_cast<std::ptrdiff_t>(kBytes / 2));
  Arena::deallocate(table, kBytes);
}

TEST_CASE("a table without memory is none") {
  const alloctap::testing::StarvedArena starved;
  CHECK(Arena::allocate_table(Arena::kHugePage) == nullptr);
}
