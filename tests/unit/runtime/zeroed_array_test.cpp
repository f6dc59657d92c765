#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/static_objects.hpp"

namespace {

using alloctap::ZeroedArray;

struct Pair {
  std::atomic<std::uint64_t> number;
  std::atomic<void*> pointer;
};

constexpr std::size_t kCount = 1 << 16;
constinit ZeroedArray<Pair, kCount> pairs;

TEST_CASE("a zeroed array starts as zeros and keeps what each element was given") {
  for (std::size_t i = 0; i < kCount; ++i) {
    REQUIRE(pairs[i].number.load() == 0);
    REQUIRE(pairs[i].pointer.load() == nullptr);
    pairs[i].number.store(i + 1);
  }
  const auto& read = pairs;
  for (std::size_t i = 0; i < kCount; ++i) REQUIRE(read[i].number.load() == i + 1);
}

TEST_CASE("a zeroed array has the size and the alignment of its elements") {
  CHECK(ZeroedArray<Pair, 3>::size() == 3);
  CHECK(sizeof(ZeroedArray<Pair, 3>) == 3 * sizeof(Pair));
  CHECK(alignof(ZeroedArray<Pair, 3>) == alignof(Pair));
}

}  // namespace
