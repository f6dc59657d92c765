#include "alloctap/meta/pool_books.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "tests/support/block_at.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::PoolBook;
using alloctap::PoolBooks;
using alloctap::PoolFaults;
using alloctap::PoolHandle;
using alloctap::PoolTable;
using alloctap::testing::at;
using alloctap::testing::StarvedArena;

constinit PoolTable table;
constinit PoolBooks<table> books;

/// A pool of its own for each test; books count faults for all of them.
struct TestPool {
  explicit TestPool(const char* name) : handle(table.create(name)), before(books.faults()) {}

  void allocate(std::uintptr_t block, std::uint64_t size, alloctap::StackId stack = 5) const {
    books.allocate(handle, at(block), {.stack = stack, .size = size});
  }
  void free(std::uintptr_t block) const { books.free(handle, at(block)); }
  void check(std::uint64_t live_blocks, std::uint64_t live_bytes, std::uint64_t peak) const {
    const PoolBook& book = books.book(handle.slot());
    CHECK(book.sums().live_allocations == live_blocks);
    CHECK(book.sums().live_bytes == live_bytes);
    CHECK(book.peak_live_bytes() == peak);
  }
  [[nodiscard]] PoolFaults faults() const {
    const PoolFaults now = books.faults();
    return {.unknown_frees = now.unknown_frees - before.unknown_frees,
            .wrong_pool_frees = now.wrong_pool_frees - before.wrong_pool_frees,
            .announced_twice = now.announced_twice - before.announced_twice,
            .unknown_pools = now.unknown_pools - before.unknown_pools,
            .dropped = now.dropped - before.dropped};
  }

  PoolHandle handle;
  PoolFaults before;
};

}  // namespace

TEST_CASE("a pool has the sums of its blocks, by stack too") {
  const TestPool pool("sums");
  pool.allocate(0x1000, 100, 5);
  pool.allocate(0x2000, 30, 6);
  pool.allocate(0x3000, 5'000'000'000, 6);
  pool.check(3, 5'000'000'130, 5'000'000'130);
  pool.free(0x3000);
  pool.allocate(0x3000, 7, 5);
  pool.check(3, 137, 5'000'000'130);
  const alloctap::PoolStacks& stacks = books.book(pool.handle.slot()).stacks();
  CHECK(stacks.find(5)->allocations == 2);
  CHECK(stacks.find(5)->live_bytes == 107);
  CHECK(stacks.find(6)->allocated_bytes == 5'000'000'030);
  CHECK(stacks.find(6)->live_allocations == 1);
}

TEST_CASE("sums of bytes saturate, and are exact again when no block is live") {
  constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint64_t>::max();
  const TestPool pool("saturated");
  pool.allocate(0x1000, kMaxCount);
  pool.allocate(0x2000, kMaxCount);
  pool.allocate(0x3000, 5);
  pool.check(3, kMaxCount, kMaxCount);
  const alloctap::PoolSums& of_stack = *books.book(pool.handle.slot()).stacks().find(5);
  CHECK(of_stack.allocated_bytes == kMaxCount);
  CHECK(of_stack.live_bytes == kMaxCount);
  for (const std::uintptr_t block : {0x1000U, 0x2000U, 0x3000U}) pool.free(block);
  pool.check(0, 0, kMaxCount);
  CHECK(of_stack.live_allocations == 0);
  CHECK(of_stack.live_bytes == 0);
  pool.allocate(0x1000, 7);
  pool.check(1, 7, kMaxCount);
  CHECK(of_stack.live_bytes == 7);
}

TEST_CASE("the block of one pool may begin where that of another one does") {
  const TestPool outer("outer");
  const TestPool inner("inner");
  outer.allocate(0x1000, 4096);
  inner.allocate(0x1000, 16);
  inner.free(0x1000);
  inner.check(0, 0, 16);
  outer.check(1, 4096, 4096);
  CHECK(inner.faults().wrong_pool_frees == 0);
}

TEST_CASE("frees that cannot be are counted, and change nothing") {
  const TestPool pool("faulty");
  const TestPool other("other");
  pool.allocate(0x5550, 10);
  pool.free(0x9000);
  CHECK(pool.faults().unknown_frees == 1);
  other.free(0x5550);
  CHECK(pool.faults().wrong_pool_frees == 1);
  pool.check(1, 10, 10);
  pool.free(0x5550);
  pool.free(0x5550);
  CHECK(pool.faults().unknown_frees == 2);
  pool.check(0, 0, 10);
}

TEST_CASE("a block that is announced twice ends the first time") {
  const TestPool pool("twice");
  pool.allocate(0x1000, 10, 5);
  pool.allocate(0x1000, 20, 6);
  CHECK(pool.faults().announced_twice == 1);
  pool.check(1, 20, 20);
  const alloctap::PoolStacks& stacks = books.book(pool.handle.slot()).stacks();
  CHECK(stacks.find(5)->live_bytes == 0);
}

TEST_CASE("a reset ends all blocks, and their addresses are as new") {
  const TestPool pool("reset");
  for (std::uintptr_t i = 1; i <= 100; ++i) pool.allocate(i * 16, 8);
  books.reset(pool.handle);
  pool.check(0, 0, 800);
  for (std::uintptr_t i = 1; i <= 100; ++i) pool.allocate(i * 16, 4);
  pool.check(100, 400, 800);
  CHECK(pool.faults().announced_twice == 0);
  CHECK(books.book(pool.handle.slot()).sums().allocations == 200);
  const alloctap::PoolStacks& stacks = books.book(pool.handle.slot()).stacks();
  CHECK(stacks.find(5)->live_bytes == 400);
}

TEST_CASE("calls for a destroyed pool are counted, and the next pool of its name begins empty") {
  const TestPool pool("destroyed");
  pool.allocate(0x1000, 10);
  CHECK(table.destroy(pool.handle));
  books.reset(pool.handle);
  pool.allocate(0x2000, 10);
  pool.free(0x1000);
  CHECK(pool.faults().unknown_pools == 2);
  pool.check(0, 0, 10);
  const TestPool next("destroyed");
  REQUIRE(next.handle.slot() == pool.handle.slot());
  next.allocate(0x1000, 3);
  // The end of the first, late.
  books.reset(pool.handle);
  next.check(1, 3, 10);
  CHECK(next.faults().announced_twice == 0);
}

TEST_CASE("a pool whose end was not heard has ended when the next one of its name allocates") {
  const TestPool pool("unheard");
  pool.allocate(0x1000, 10);
  CHECK(table.destroy(pool.handle));
  const TestPool next("unheard");
  next.allocate(0x2000, 3);
  next.check(1, 3, 10);
}

TEST_CASE("what the system has no memory for is counted") {
  const TestPool pool("starved");
  for (std::uintptr_t i = 1; i <= 3; ++i) pool.allocate(i * 16, 8);
  {
    const StarvedArena starved;
    for (std::uintptr_t i = 4; i <= 10; ++i)
      pool.allocate(i * 16, 8, 100 + static_cast<alloctap::StackId>(i));
  }
  CHECK(pool.faults().dropped > 0);
  for (std::uintptr_t i = 1; i <= 10; ++i) pool.free(i * 16);
  pool.check(0, 0, books.book(pool.handle.slot()).peak_live_bytes());
}
