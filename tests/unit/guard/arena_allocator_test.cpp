#include "alloctap/guard/arena_allocator.hpp"

#include <absl/container/flat_hash_map.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/support/starved_arena.hpp"

namespace {

using alloctap::Arena;
using alloctap::ArenaAllocator;
using alloctap::ArenaReserve;
using alloctap::testing::StarvedArena;

using Allocator = ArenaAllocator<std::pair<const std::uint64_t, std::uint64_t>>;
using Map = absl::flat_hash_map<std::uint64_t, std::uint64_t, absl::Hash<std::uint64_t>,
                                std::equal_to<std::uint64_t>, Allocator>;

void fill(Map& map, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t key = first; key < end; ++key) map.emplace(key, key * key);
}

bool is_filled(const Map& map, std::uint64_t end) {
  for (std::uint64_t key = 0; key < end; ++key) {
    const auto place = map.find(key);
    if (place == map.end() || place->second != key * key) return false;
  }
  return map.size() == end;
}

}  // namespace

TEST_CASE("a reserve keeps what was prepared until it is taken") {
  ArenaReserve reserve;
  std::size_t bytes = 7;
  CHECK(reserve.take(bytes) == nullptr);
  CHECK(bytes == 0);
  CHECK(reserve.prepare(100));
  CHECK(reserve.prepare(50));
  void* block = reserve.take(bytes);
  CHECK(block != nullptr);
  CHECK(bytes == 100);
  CHECK(reserve.take(bytes) == nullptr);
  Arena::deallocate(block, 100);
}

TEST_CASE("a reserve that grows or is released gives its block back") {
  ArenaReserve reserve;
  const std::size_t before = Arena::mapped_bytes();
  CHECK(reserve.prepare(1 << 20));
  CHECK(reserve.prepare(2 << 20));
  CHECK(Arena::mapped_bytes() == before + (2 << 20));
  reserve.release();
  CHECK(Arena::mapped_bytes() == before);
  reserve.release();
  CHECK(Arena::mapped_bytes() == before);
}

TEST_CASE("a hash map over the arena grows without a reserve and gives all back") {
  ArenaReserve reserve;
  const std::size_t before = Arena::mapped_bytes();
  {
    Map map{Allocator(&reserve)};
    fill(map, 0, 100'000);
    CHECK(is_filled(map, 100'000));
    CHECK(Arena::mapped_bytes() > before + 100'000 * 16);
  }
  // The small tables on the way stay as blocks for reuse.
  CHECK(Arena::mapped_bytes() <= before + 2 * Arena::kChunkBytes);
}

TEST_CASE("a hash map grows into a prepared reserve where the system has no more") {
  ArenaReserve reserve;
  Map map{Allocator(&reserve)};
  fill(map, 0, 1000);
  bool prepared = reserve.prepare(1 << 20);
  bool prepared_more = true;
  {
    const StarvedArena starved;
    map.reserve(10'000);
    prepared_more = reserve.prepare(1 << 20);
  }
  CHECK(prepared);
  CHECK_FALSE(prepared_more);
  fill(map, 1000, 10'000);
  CHECK(is_filled(map, 10'000));
}

TEST_CASE("a reserve that is too small goes back and the arena serves") {
  ArenaReserve reserve;
  const std::size_t before = Arena::mapped_bytes();
  CHECK(reserve.prepare(Arena::kLargestBlock + 1));
  ArenaAllocator<std::uint64_t> allocator(&reserve);
  std::uint64_t* values = allocator.allocate(1 << 20);
  values[0] = values[(1 << 20) - 1] = 1;
  std::size_t bytes = 0;
  CHECK(reserve.take(bytes) == nullptr);
  allocator.deallocate(values, 1 << 20);
  CHECK(Arena::mapped_bytes() == before);
}

TEST_CASE("allocators are equal where they share a reserve") {
  ArenaReserve first;
  ArenaReserve second;
  CHECK(Allocator(&first) == ArenaAllocator<int>(&first));
  CHECK_FALSE(Allocator(&first) == Allocator(&second));
  std::vector<int, ArenaAllocator<int>> numbers{ArenaAllocator<int>(&first)};
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  CHECK(numbers[999] == 999);
}
