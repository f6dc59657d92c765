#include "alloctap/meta/pool_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using alloctap::PoolHandle;
using alloctap::PoolTable;

}  // namespace

TEST_CASE("pools of one name are told apart, and a destroyed one leaves its slot to the next") {
  const auto table = std::make_unique<PoolTable>();
  const PoolHandle first = table->create("arena");
  const PoolHandle second = table->create("arena");
  CHECK(first.value != 0);
  CHECK(first.slot() != second.slot());
  CHECK(table->end_slot() == 3);
  CHECK(table->destroy(first));
  CHECK_FALSE(table->destroy(first));
  CHECK_FALSE(table->is_alive(first));
  CHECK(table->is_destroyed(first.slot()));
  CHECK(table->is_alive(second));
  const PoolHandle third = table->create("arena");
  CHECK(third.slot() == first.slot());
  CHECK(third.generation() != first.generation());
  CHECK(table->is_alive(third));
  CHECK_FALSE(table->is_alive(first));
  CHECK(table->create("slab").slot() == 3);
  CHECK(table->name(3) == "slab");
}

TEST_CASE("what was never a pool is none") {
  const auto table = std::make_unique<PoolTable>();
  CHECK_FALSE(table->is_alive({}));
  CHECK_FALSE(table->is_alive({.value = 1}));
  CHECK_FALSE(table->is_alive({.value = 0xFFFFFFFF}));
  CHECK_FALSE(table->destroy({}));
  CHECK_FALSE(table->destroy({.value = 77}));
  CHECK_FALSE(table->set_overhead({.value = 77}, 1));
}

TEST_CASE("the overhead is of a pool that is there") {
  const auto table = std::make_unique<PoolTable>();
  const PoolHandle pool = table->create("arena");
  CHECK(table->set_overhead(pool, 4096));
  CHECK(table->set_overhead(pool, 100));
  CHECK(table->overhead(pool.slot()) == 100);
  CHECK(table->destroy(pool));
  CHECK(table->overhead(pool.slot()) == 0);
  CHECK_FALSE(table->set_overhead(pool, 1));
  CHECK(table->overhead(table->create("arena").slot()) == 0);
}

TEST_CASE("threads that create one pool at once get one pool") {
  const auto table = std::make_unique<PoolTable>();
  std::atomic<std::uint32_t> once{0};
  std::atomic<int> ready{0};
  constexpr int kThreads = 8;
  std::array<std::uint32_t, kThreads> made{};
  std::vector<std::thread> threads;
  for (std::uint32_t& handle : made) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      handle = table->create_once(once, "shared").value;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(table->end_slot() == 2);
  CHECK(once != 0);
  for (const std::uint32_t handle : made) CHECK(handle == once);
}

TEST_CASE("names are cut, copied, and may be empty") {
  const auto table = std::make_unique<PoolTable>();
  std::string name(1000, 'x');
  const PoolHandle longest = table->create(name);
  name.assign(1000, 'y');
  CHECK(table->name(longest.slot()) == std::string(PoolTable::kMaxNameLength, 'x'));
  const std::string before(PoolTable::kMaxNameLength - 1, 'x');
  CHECK(table->name(table->create(before + "\xC3\xA9").slot()) == before);
  CHECK(table->name(table->create({}).slot()).empty());
}

TEST_CASE("a full table refuses, and the pools that are there stay") {
  const auto table = std::make_unique<PoolTable>();
  PoolHandle last;
  for (std::uint32_t i = 0; i < PoolTable::kMaxPools; ++i) last = table->create("arena");
  CHECK(last.slot() == PoolTable::kMaxPools);
  CHECK(table->create("arena").value == 0);
  CHECK(table->refused() == 1);
  CHECK(table->is_alive(last));
  CHECK(table->destroy(last));
  CHECK(table->create("arena").slot() == PoolTable::kMaxPools);
}

TEST_CASE("a slot may be used for ever, and no handle is 0") {
  const auto table = std::make_unique<PoolTable>();
  PoolHandle before;
  for (int i = 0; i < (1 << 20) + 2; ++i) {
    const PoolHandle pool = table->create("arena");
    REQUIRE(pool.generation() != 0);
    REQUIRE(pool.generation() != before.generation());
    REQUIRE(table->destroy(pool));
    before = pool;
  }
  CHECK(table->end_slot() == 2);
}
