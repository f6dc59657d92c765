#include "alloctap/meta/flat_hash_index.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "tests/support/child_process.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::FlatHashIndex;
using alloctap::InsertOutcome;
using alloctap::kNoStackId;
using alloctap::testing::holds_in_child;
using alloctap::testing::StarvedArena;

/// Block `i` of one region of 4 KiB, whose records all fall in one table.
void* neighbour(std::uintptr_t i) { return reinterpret_cast<void*>(0x5000'0000 + i); }

/// Keeps `live` records in one table, where the oldest makes room for a new one again and again.
bool replaces_without_memory(std::uintptr_t live, std::uintptr_t rounds) {
  const auto index = std::make_unique<FlatHashIndex>();
  for (std::uintptr_t i = 0; i < live; ++i) index->insert(neighbour(i), {.stack = 1, .size = 1});
  const StarvedArena starved;
  for (std::uintptr_t i = live; i < rounds; ++i) {
    if (index->take(neighbour((i - live) % 4096)).stack != 1) return false;
    if (!index->insert(neighbour(i % 4096), {.stack = 1, .size = 1}).kept) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("looking leaves the record where it is") {
  const auto index = std::make_unique<FlatHashIndex>();
  CHECK(index->look(neighbour(0)).stack == kNoStackId);
  index->insert(neighbour(0), {.stack = 3, .size = 64});
  CHECK(index->look(neighbour(0)).stack == 3);
  CHECK(index->look(neighbour(0)).size == 64);
  CHECK(index->take(neighbour(0)).size == 64);
  CHECK(index->look(neighbour(0)).stack == kNoStackId);
}

TEST_CASE("one region holds as many records as it has addresses") {
  const auto index = std::make_unique<FlatHashIndex>();
  for (std::uint32_t i = 0; i < 4096; ++i) {
    index->insert(neighbour(i), {.stack = i + 1, .size = i});
  }
  std::size_t right = 0;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    const BlockRecord record = index->take(neighbour(i));
    if (record.stack == i + 1 && record.size == i) ++right;
  }
  CHECK(right == 4096);
}

TEST_CASE("without memory an index keeps what it has, and says what it could not keep") {
  const auto index = std::make_unique<FlatHashIndex>();
  index->insert(neighbour(0), {.stack = 1, .size = 16});
  std::uint32_t kept = 1;
  InsertOutcome refused;
  {
    const StarvedArena starved;
    while (kept < 4096) {
      refused = index->insert(neighbour(kept), {.stack = kept + 1, .size = 16});
      if (!refused.kept) break;
      ++kept;
    }
  }
  CHECK_FALSE(refused.kept);
  CHECK(refused.replaced.stack == kNoStackId);
  CHECK(kept < 64);
  CHECK(index->take(neighbour(kept)).stack == kNoStackId);
  for (std::uint32_t i = 0; i < kept; ++i) CHECK(index->take(neighbour(i)).stack == i + 1);
}

TEST_CASE("without memory records come and go without end") {
  for (const std::uintptr_t live : {7U, 15U, 100U}) {
    CAPTURE(live);
    // A table that grew on its own would end the process.
    CHECK(holds_in_child([&] { return replaces_without_memory(live, 300'000); }));
  }
}
