#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "alloctap/stack/stack_table.hpp"
#include "tests/support/exhausted_arena.hpp"

TEST_CASE("with memory for half of its buckets, a table has none, and gives that half back") {
  constexpr std::size_t kBuckets = 4096 * sizeof(std::uint64_t);
  for (const std::size_t half : {std::size_t{16}, kBuckets}) {
    CAPTURE(half);
    const auto table = std::make_unique<alloctap::StackTable>();
    const std::vector<std::uintptr_t> frames{1, 2, 3};
    alloctap::StackId id = alloctap::kNoStackId;
    void* left = nullptr;
    {
      alloctap::testing::StarvedArena starved;
      starved.give_back(1, half);
      id = table->intern(frames);
      left = alloctap::Arena::allocate(half);
      if (left != nullptr) alloctap::Arena::deallocate(left, half);
    }
    CHECK(id == alloctap::kUnknownStack);
    CHECK(left != nullptr);
    const alloctap::StackFrames kept = table->frames(table->intern(frames));
    CHECK(std::equal(kept.begin(), kept.end(), frames.begin(), frames.end()));
  }
}
