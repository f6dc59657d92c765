#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>

#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/runtime/arena.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::Arena;
using alloctap::BlockRecord;
using alloctap::FlatHashTable;
using alloctap::kNoStackId;
using alloctap::testing::StarvedArena;

const void* block(std::uintptr_t number) { return reinterpret_cast<const void*>(number * 16); }

}  // namespace

TEST_CASE("records stay found while others come and go around them, at every size") {
  FlatHashTable table;
  std::map<std::uintptr_t, BlockRecord> model;
  std::mt19937_64 random(5);
  // Grows and shrinks in waves.
  for (int step = 0; step < 100'000; ++step) {
    const std::uintptr_t number = 1 + random() % 3000;
    if (random() % 100 < (step / 10'000 % 2 == 0 ? 70U : 30U)) {
      const BlockRecord record{.stack = 1 + static_cast<std::uint32_t>(random() % 100),
                               .size = random() % 50 == 0 ? 1ULL << 40 : random() % 1000};
      CHECK(table.insert(block(number), record).replaced.size == model[number].size);
      model[number] = record;
    } else {
      CHECK(table.take(block(number)).size == model[number].size);
      model.erase(number);
    }
  }
  std::size_t visited = 0;
  table.for_each([&](const void* pointer, const BlockRecord& record) {
    CHECK(model[reinterpret_cast<std::uintptr_t>(pointer) / 16].size == record.size);
    CHECK(table.look(pointer).stack == record.stack);
    ++visited;
  });
  CHECK(visited == model.size());
}

TEST_CASE("large tables take 20 to 30 bytes for a record") {
  FlatHashTable table;
  const std::size_t before = Arena::mapped_bytes();
  for (std::uintptr_t number = 1; number <= 300'000; ++number) {
    REQUIRE(table.insert(block(number), {.stack = 1, .size = 1}).kept);
    if (number < 20'000) continue;
    const std::size_t bytes = Arena::mapped_bytes() - before;
    // The arena's chunk may be new as well.
    REQUIRE(bytes <= 30 * number + 2 * Arena::kChunkBytes);
    REQUIRE(bytes >= 20 * number);
  }
}

TEST_CASE("a table that cannot grow fills up but for one slot") {
  FlatHashTable table;
  std::uint32_t kept = 0;
  {
    StarvedArena starved;
    starved.give_back(1, 64);
    while (kept < 100 && table.insert(block(kept), {.stack = kept + 1, .size = 1}).kept) ++kept;
  }
  CHECK(kept == 3);
  for (std::uint32_t number = 0; number < kept; ++number) {
    CHECK(table.take(block(number)).stack == number + 1);
  }
  CHECK(table.take(block(kept)).stack == kNoStackId);
}

TEST_CASE("without memory for its size a large block is not kept, and a former one is gone") {
  FlatHashTable table;
  table.insert(block(1), {.stack = 1, .size = 10});
  alloctap::InsertOutcome outcome;
  {
    const StarvedArena starved;
    outcome = table.insert(block(1), {.stack = 2, .size = 1ULL << 40});
  }
  CHECK_FALSE(outcome.kept);
  CHECK(outcome.replaced.stack == 1);
  CHECK(table.look(block(1)).stack == kNoStackId);
  CHECK(table.insert(block(1), {.stack = 2, .size = 1ULL << 40}).kept);
  CHECK(table.take(block(1)).size == 1ULL << 40);
}

TEST_CASE("a table that is released gives all memory back, and can be used again") {
  FlatHashTable table;
  const auto fill = [&] {
    for (std::uintptr_t i = 1; i <= 100'000; ++i) {
      static_cast<void>(table.insert(block(i), {.stack = 1, .size = i % 1000 == 0 ? ~0ULL : i}));
    }
  };
  fill();
  table.release();
  const std::size_t before = Arena::mapped_bytes();
  for (int round = 0; round < 3; ++round) {
    CHECK(table.look(block(1)).stack == kNoStackId);
    fill();
    CHECK(table.look(block(1000)).size == ~0ULL);
    CHECK(Arena::mapped_bytes() > before);
    table.release();
    CHECK(Arena::mapped_bytes() == before);
  }
}

TEST_CASE("a cleared table has nothing, and keeps its memory where it was needed") {
  FlatHashTable table;
  for (std::uintptr_t number = 1; number <= 100'000; ++number) {
    REQUIRE(table.insert(block(number), {.stack = 1, .size = 1ULL << (number % 40)}).kept);
  }
  const std::size_t full = Arena::mapped_bytes();
  table.clear();
  CHECK(table.look(block(7)).stack == kNoStackId);
  CHECK(Arena::mapped_bytes() == full);
  REQUIRE(table.insert(block(7), {.stack = 2, .size = 3}).kept);
  CHECK(table.take(block(7)).size == 3);
  REQUIRE(table.insert(block(8), {.stack = 2, .size = 3}).kept);
  table.clear();
  CHECK(Arena::mapped_bytes() < full);
  CHECK(table.look(block(8)).stack == kNoStackId);
}
