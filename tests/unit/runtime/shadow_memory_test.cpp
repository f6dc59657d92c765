#include "alloctap/runtime/shadow_memory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "alloctap/runtime/arena.hpp"
#include "tests/support/brought_in.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/huge_pages.hpp"

namespace {

using alloctap::Arena;
using alloctap::ShadowMemory;
using alloctap::testing::mapping_has_flag;
using Word = ShadowMemory::Word;

constexpr std::uintptr_t kLeaf = std::uintptr_t{1} << 23;

const void* place_at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

std::vector<std::uintptr_t> set_addresses(ShadowMemory& memory) {
  std::vector<std::uintptr_t> addresses;
  memory.for_each([&](const void* pointer, Word& word) {
    CHECK(word.load() == 7);
    addresses.push_back(reinterpret_cast<std::uintptr_t>(pointer));
  });
  return addresses;
}

}  // namespace

TEST_CASE("a word is there once it was made") {
  const auto memory = std::make_unique<ShadowMemory>();
  CHECK(memory->find(place_at(0x1000)) == nullptr);
  Word* const word = memory->make(place_at(0x1000));
  REQUIRE(word != nullptr);
  CHECK(word->load() == 0);
  CHECK(memory->find(place_at(0x1000)) == word);
  CHECK(memory->make(place_at(0x1000)) == word);
  CHECK(memory->find(place_at(0x1010)) == word + 1);
  CHECK(memory->find_made(place_at(0x1010)) == word + 1);
}

TEST_CASE("a word beside those that were made is 0 to who reads, and not there for who writes") {
  const auto memory = std::make_unique<ShadowMemory>();
  REQUIRE(memory->make(place_at(0x1000)) != nullptr);
  constexpr std::uintptr_t kElsewhere = kLeaf / 2;
  const Word* const unmade = memory->find(place_at(kElsewhere));
  REQUIRE(unmade != nullptr);
  CHECK(unmade->load() == 0);
  CHECK(memory->find_made(place_at(kElsewhere)) == nullptr);
  CHECK(memory->make(place_at(kElsewhere)) == unmade);
  CHECK(memory->find_made(place_at(kElsewhere)) == unmade);
}

TEST_CASE("what was written lasts when the words around it are made") {
  const auto memory = std::make_unique<ShadowMemory>();
  // The neighbour of the last word of a part: in a part that was not made yet.
  constexpr std::uintptr_t kPart = 2048 * 16;
  Word* const last = memory->make(place_at(kPart - 16));
  last[1].store(5);
  CHECK(memory->find_made(place_at(kPart)) == nullptr);
  CHECK(memory->make(place_at(kPart)) == last + 1);
  CHECK(last[1].load() == 5);
}

TEST_CASE("words are visited that have one of the bits that are asked for") {
  const auto memory = std::make_unique<ShadowMemory>();
  memory->make(place_at(0x1000))[0].store(1);
  memory->make(place_at(0x1000))[1].store(6);
  memory->make(place_at(0x1000))[63].store(8);
  memory->make(place_at(0x1000))[64].store(0x80000000);
  const auto visited = [&](std::uint32_t bits) {
    std::vector<std::uintptr_t> addresses;
    const auto visit = [&](const void* pointer, Word&) {
      addresses.push_back(reinterpret_cast<std::uintptr_t>(pointer));
    };
    memory->for_each(visit, bits);
    return addresses;
  };
  CHECK(visited(4) == std::vector<std::uintptr_t>{0x1010});
  CHECK(visited(0x80000001) == std::vector<std::uintptr_t>{0x1000, 0x1400});
  CHECK(visited(~0U) == std::vector<std::uintptr_t>{0x1000, 0x1010, 0x13F0, 0x1400});
  CHECK(visited(16).empty());
}

TEST_CASE("every word is visited, wherever it stands among its neighbours") {
  const auto memory = std::make_unique<ShadowMemory>();
  Word* const words = memory->make(place_at(0));
  for (std::size_t i = 0; i < 192; ++i) {
    CAPTURE(i);
    words[i].store(7);
    CHECK(set_addresses(*memory) == std::vector<std::uintptr_t>{16 * i});
    words[i].store(0);
  }
}

TEST_CASE("a word has a neighbour but at the end of 4 KiB") {
  CHECK(ShadowMemory::has_neighbour(place_at(0x1000)));
  CHECK(ShadowMemory::has_neighbour(place_at(0x1FE0)));
  CHECK_FALSE(ShadowMemory::has_neighbour(place_at(0x1FF0)));
  CHECK_FALSE(ShadowMemory::has_neighbour(place_at(kLeaf - 16)));
}

TEST_CASE("words that are not 0 are visited in order, by their address") {
  const auto memory = std::make_unique<ShadowMemory>();
  const std::vector<std::uintptr_t> addresses{
      0, 0x10, 0x100, kLeaf - 16, kLeaf, 5 * kLeaf + 0x12340, (std::uintptr_t{1} << 48) - 16};
  for (const std::uintptr_t address : addresses) {
    REQUIRE(ShadowMemory::covers(place_at(address)));
    memory->make(place_at(address))->store(7);
  }
  CHECK(set_addresses(*memory) == addresses);
}

TEST_CASE("odd addresses and those beyond 48 bits have no word") {
  CHECK_FALSE(ShadowMemory::covers(place_at(0x1008)));
  CHECK_FALSE(ShadowMemory::covers(place_at(1)));
  CHECK_FALSE(ShadowMemory::covers(place_at(std::uintptr_t{1} << 48)));
  CHECK_FALSE(ShadowMemory::covers(place_at(UINTPTR_MAX - 15)));
}

TEST_CASE("without memory no word is made, and those that are there stay") {
  const auto memory = std::make_unique<ShadowMemory>();
  Word* const word = memory->make(place_at(0x1000));
  const alloctap::testing::StarvedArena starved;
  CHECK(memory->make(place_at(3 * kLeaf)) == nullptr);
  CHECK(memory->find(place_at(3 * kLeaf)) == nullptr);
  CHECK(memory->make(place_at(0x8000)) != nullptr);
  CHECK(memory->find(place_at(0x1000)) == word);
}

TEST_CASE("a leaf takes the address space of its words, and no more") {
  const auto memory = std::make_unique<ShadowMemory>();
  REQUIRE(memory->make(place_at(0x1000)) != nullptr);
  const std::size_t before = Arena::mapped_bytes();
  REQUIRE(memory->make(place_at(kLeaf)) != nullptr);
  const std::size_t leaf = Arena::mapped_bytes() - before;
  CHECK(leaf == kLeaf / 4);
}

TEST_CASE(
    "where a heap grows upwards, parts come several at a time, as far as the system can that") {
  constexpr std::uintptr_t kPart = 2048 * 16;
  constexpr std::size_t kAtOnce = 64 * 1024;
  constexpr std::uintptr_t kLeaves = 64;
  constexpr auto kAll = static_cast<std::ptrdiff_t>(kLeaves * kAtOnce);
  const auto memory = std::make_unique<ShadowMemory>();
  // Each second leaf: none of them comes as a huge page.
  const auto make_in_leaves = [&](std::uintptr_t first, std::uintptr_t part) {
    for (std::uintptr_t i = 0; i < kLeaves; ++i) {
      REQUIRE(memory->make(place_at((first + 2 * i) * kLeaf + part * kPart)) != nullptr);
    }
  };
  make_in_leaves(0, 7);
  CHECK(alloctap::testing::resident_growth([&] { make_in_leaves(0, 8); }) >
        alloctap::testing::brought_in_of(kLeaves * kAtOnce) - kAll / 4);
  // Neither where nothing is below, nor from the middle of 64 KiB on.
  CHECK(alloctap::testing::resident_growth([&] { make_in_leaves(1, 8); }) < kAll / 2);
  CHECK(alloctap::testing::resident_growth([&] { make_in_leaves(1, 7); }) < kAll / 2);
  CHECK(alloctap::testing::resident_growth([&] { make_in_leaves(1, 9); }) < kAll / 2);
  CHECK(memory->find_made(place_at(9 * kPart)) == nullptr);
}

TEST_CASE("a leaf is made of a huge page where half of the one below is there, and only there") {
  if (!alloctap::testing::huge_pages_exist()) return;
  constexpr std::uintptr_t kPart = 2048 * 16;
  const auto memory = std::make_unique<ShadowMemory>();
  // As of a heap that begins somewhere in a leaf and grows upwards.
  const auto fill_to_the_end = [&](std::uintptr_t leaf, std::uintptr_t bytes) {
    for (std::uintptr_t i = kPart; i <= bytes; i += kPart) {
      REQUIRE(memory->make(place_at((leaf + 1) * kLeaf - i)) != nullptr);
    }
  };
  const auto is_huge = [&](std::uintptr_t leaf) {
    const Word* const word = memory->make(place_at(leaf * kLeaf));
    REQUIRE(word != nullptr);
    const bool huge = mapping_has_flag(word, "hg");
    CHECK(mapping_has_flag(word, "nh") != huge);
    return huge;
  };
  fill_to_the_end(0, kLeaf / 2);
  CHECK(is_huge(1));
  fill_to_the_end(10, kLeaf / 2 - kPart);
  CHECK_FALSE(is_huge(11));
  fill_to_the_end(21, kLeaf);
  CHECK_FALSE(is_huge(20));
  CHECK_FALSE(is_huge(30));
}
