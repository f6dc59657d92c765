#include <doctest/doctest.h>

#include <map>
#include <memory>

#include "alloctap/record/thread_stats.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::AllocationTotals;
using alloctap::Arena;
using alloctap::kNoStackId;
using alloctap::StackHash;
using alloctap::StackId;
using alloctap::StackTotals;
using alloctap::testing::StarvedArena;

StackHash hash_of(StackId stack) { return StackHash{}.with(stack); }

StackTotals::Entry* entry_of(StackTotals& totals, StackId stack) {
  StackTotals::Entry* entry = totals.find(hash_of(stack));
  return entry != nullptr ? entry : totals.add(hash_of(stack), stack);
}

std::map<StackId, AllocationTotals> contents(const StackTotals& totals) {
  std::map<StackId, AllocationTotals> sums;
  totals.for_each([&](StackId stack, const AllocationTotals& of) { sums[stack] += of; });
  return sums;
}

}  // namespace

TEST_CASE("a stack that allocated nothing has no entry") {
  StackTotals totals;
  CHECK(totals.find(StackHash{}) == nullptr);
  CHECK(totals.find(hash_of(7)) == nullptr);
  CHECK(contents(totals).empty());
}

TEST_CASE("the totals of each stack are apart, however many there are") {
  constexpr StackId kStacks = 20'000;
  const auto totals = std::make_unique<StackTotals>();
  for (int round = 0; round < 2; ++round) {
    for (StackId stack = 1; stack <= kStacks; ++stack) {
      StackTotals::Entry* entry = entry_of(*totals, stack);
      REQUIRE(entry != nullptr);
      REQUIRE(entry->stack == stack);
      StackTotals::count(*entry, stack);
      if (stack % 3 == 0) StackTotals::count_temporary(*entry);
    }
  }
  const auto sums = contents(*totals);
  REQUIRE(sums.size() == kStacks);
  for (const auto& [stack, sum] : sums) {
    CHECK(sum.allocations == 2);
    CHECK(sum.allocated_bytes == 2 * std::uint64_t{stack});
    CHECK(sum.temporary_allocations == (stack % 3 == 0 ? 2 : 0));
  }
}

TEST_CASE("stacks whose hashes agree in a half are told apart") {
  StackTotals totals;
  const StackHash first{.first = 0x1000, .second = 1ULL << 32};
  const StackHash other_second{.first = 0x1000, .second = 2ULL << 32};
  const StackHash other_first{.first = 0x2000, .second = 1ULL << 32};
  REQUIRE(totals.add(first, 2) != nullptr);
  CHECK(totals.find(other_second) == nullptr);
  CHECK(totals.find(other_first) == nullptr);
  REQUIRE(totals.add(other_second, 3) != nullptr);
  REQUIRE(totals.add(other_first, 4) != nullptr);
  CHECK(totals.find(first)->stack == 2);
  CHECK(totals.find(other_second)->stack == 3);
  CHECK(totals.find(other_first)->stack == 4);
}

TEST_CASE("where a stack was found is noted, and looked at first") {
  StackTotals totals;
  StackTotals::Entry* const first = entry_of(totals, 1);
  StackTotals::Entry* const second = entry_of(totals, 2);
  std::uint32_t place = 0;
  CHECK(totals.find(hash_of(1), &place) == first);
  const std::uint32_t place_of_first = place;
  CHECK(totals.find(hash_of(2), &place) == second);
  CHECK(static_cast<std::ptrdiff_t>(place) - place_of_first == second - first);
  // Found there though a search would not come by.
  const StackHash moved = StackHash{}.with(4711);
  first->hash = moved.first;
  first->check = static_cast<std::uint32_t>(moved.second >> 32);
  place = place_of_first;
  CHECK(totals.find(moved, &place) == first);
  CHECK(totals.find(moved) == nullptr);
}

TEST_CASE("what is noted may be of another stack, of a table that has grown, or anything") {
  StackTotals totals;
  std::uint32_t place = 0;
  for (StackId stack = 1; stack <= 1000; ++stack) {
    StackTotals::Entry* const entry = entry_of(totals, stack);
    for (const std::uint32_t noted : {place, 0U, stack, 0xFFFF'FFFFU}) {
      place = noted;
      CHECK(totals.find(hash_of(stack), &place) == entry);
      CHECK(totals.find(hash_of(stack), &place) == entry);
      CHECK(totals.find(hash_of(stack + 1), &place) == nullptr);
    }
  }
  CHECK(totals.find(hash_of(7), nullptr)->stack == 7);
}

TEST_CASE("bytes are summed beyond 4 GiB, and allocations beyond 2^32") {
  StackTotals totals;
  constexpr std::uint64_t kLarge = std::uint64_t{3} << 40;
  StackTotals::Entry* full = entry_of(totals, 3);
  full->allocations = 0xFFFF'FFFE;
  StackTotals::count(*full, kLarge);
  StackTotals::Entry* next = entry_of(totals, 3);
  CHECK(next != full);
  StackTotals::count(*next, kLarge);
  StackTotals::count_temporary(*full);
  StackTotals::count_temporary(*next);
  for (StackId other = 4; other < 100; ++other) CHECK(entry_of(totals, other) != nullptr);
  const AllocationTotals sum = contents(totals)[3];
  CHECK(sum.allocations == 0x1'0000'0000);
  CHECK(sum.allocated_bytes == 2 * kLarge);
  CHECK(sum.temporary_allocations == 2);
}

TEST_CASE("without memory a table fills up but for one entry, then refuses, and stays whole") {
  StackTotals totals;
  StackId refused = 1;
  bool found = true;
  {
    const StarvedArena starved;
    while (entry_of(totals, refused) != nullptr && refused < 100) ++refused;
    found = totals.find(hash_of(refused)) != nullptr;
  }
  CHECK_FALSE(found);
  CHECK(refused == 16);
  CHECK(contents(totals).size() == 15);
  CHECK(entry_of(totals, refused) != nullptr);
  for (StackId stack = 1; stack <= refused; ++stack) {
    CHECK(totals.find(hash_of(stack))->stack == stack);
  }
}

TEST_CASE("with memory for half of what it grows by, a table refuses, and gives that half back") {
  // The entries of the first growth, by four; its slots are half of that.
  constexpr std::size_t kEntries = 64 * sizeof(StackTotals::Entry);
  for (const std::size_t half : {kEntries, kEntries / 2}) {
    CAPTURE(half);
    StackTotals totals;
    for (StackId stack = 1; stack < 16; ++stack) CHECK(entry_of(totals, stack) != nullptr);
    bool added = true;
    void* left = nullptr;
    {
      StarvedArena starved;
      starved.give_back(1, half);
      added = entry_of(totals, 16) != nullptr;
      left = Arena::allocate(half);
      if (left != nullptr) Arena::deallocate(left, half);
    }
    CHECK_FALSE(added);
    CHECK(left != nullptr);
    CHECK(entry_of(totals, 16) != nullptr);
    CHECK(contents(totals).size() == 16);
  }
}

TEST_CASE("a forgotten stack keeps its numbers, and begins anew under another id") {
  StackTotals totals;
  for (StackId stack = 1; stack <= 100; ++stack) StackTotals::count(*entry_of(totals, stack), 10);
  for (int again = 0; again < 2; ++again) {
    totals.forget_stacks([](StackId stack) { return stack % 2 == 0 && stack != kNoStackId; });
  }
  for (StackId stack = 1; stack <= 100; ++stack) {
    CHECK((totals.find(hash_of(stack)) == nullptr) == (stack % 2 == 0));
  }
  StackTotals::count(*totals.add(hash_of(2), 102), 5);
  for (StackId stack = 103; stack <= 300; ++stack) {
    StackTotals::count(*entry_of(totals, stack), 1);
  }
  CHECK(totals.find(hash_of(2))->stack == 102);
  CHECK(contents(totals)[2].allocated_bytes == 10);
  CHECK(contents(totals)[102].allocated_bytes == 5);
}
