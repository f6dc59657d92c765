#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <vector>

#include "alloctap/runtime/arena.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/is_aligned.hpp"

namespace {

using alloctap::BootstrapArena;
using alloctap::testing::holds_in_child;
using alloctap::testing::is_aligned;

bool is_zero(const char* start, std::size_t bytes) {
  return std::all_of(start, start + bytes, [](char byte) { return byte == 0; });
}

char* allocate(std::size_t bytes, std::size_t alignment) {
  return static_cast<char*>(BootstrapArena::allocate(bytes, alignment));
}

/// Takes blocks of `bytes` until there are none; how many there were.
std::size_t exhaust(std::size_t bytes) {
  std::size_t blocks = 0;
  while (BootstrapArena::allocate(bytes) != nullptr) ++blocks;
  return blocks;
}

}  // namespace

TEST_CASE("bootstrap blocks of every size and alignment are zeroed, aligned and owned") {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::size_t bytes : {0UL, 1UL, 16UL, 100UL}) {
      CAPTURE(alignment);
      CAPTURE(bytes);
      char* block = allocate(bytes, alignment);
      REQUIRE(block != nullptr);
      CHECK(is_aligned(block, std::max<std::size_t>(alignment, 16)));
      CHECK(is_zero(block, bytes));
      CHECK(BootstrapArena::owns(block));
      CHECK(BootstrapArena::size_of(block) == bytes);
      std::memset(block, 0xff, bytes);
    }
  }
}

TEST_CASE("bootstrap blocks do not touch each other") {
  struct Block {
    char* start;
    std::size_t bytes;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < 50; ++i) {
    const std::size_t bytes = i * 7 % 90;
    blocks.push_back({allocate(bytes, std::size_t{1} << i % 9), bytes});
    std::memset(blocks.back().start, static_cast<int>(i), bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CAPTURE(i);
    const auto [start, bytes] = blocks[i];
    CHECK(BootstrapArena::size_of(start) == bytes);
    CHECK(std::all_of(start, start + bytes, [&](char c) { return c == static_cast<char>(i); }));
  }
}

TEST_CASE("what is not of the bootstrap arena is not owned by it") {
  static int variable = 0;
  const int local = 0;
  const std::vector<int> on_heap(10);
  CHECK_FALSE(BootstrapArena::owns(nullptr));
  CHECK_FALSE(BootstrapArena::owns(&variable));
  CHECK_FALSE(BootstrapArena::owns(&local));
  CHECK_FALSE(BootstrapArena::owns(on_heap.data()));
}

TEST_CASE("the bootstrap arena owns its first and its last byte, and none beside them") {
  const std::byte* const first = BootstrapArena::extent().data();
  const std::byte* const end = first + BootstrapArena::extent().size();
  CHECK(BootstrapArena::owns(first));
  CHECK(BootstrapArena::owns(end - 1));
  CHECK_FALSE(BootstrapArena::owns(first - 1));
  CHECK_FALSE(BootstrapArena::owns(end));
}

TEST_CASE("requests larger than the bootstrap arena get nothing") {
  CHECK(BootstrapArena::allocate(BootstrapArena::kBytes) == nullptr);
  CHECK(BootstrapArena::allocate(BootstrapArena::kBytes + 1) == nullptr);
  CHECK(BootstrapArena::allocate(SIZE_MAX) == nullptr);
  CHECK(BootstrapArena::allocate(16, BootstrapArena::kBytes * 2) == nullptr);
}

TEST_CASE("the bootstrap arena ends, and a large request that failed leaves it to small ones") {
  CHECK(holds_in_child([] {
    const std::size_t large = exhaust(10'000);
    const std::size_t small = exhaust(16);
    // Other cases have left room for a block of no bytes behind the last of 16, or not.
    const std::size_t empty = exhaust(0);
    return large > 0 && large <= BootstrapArena::kBytes / 10'000 && small > 0 && empty <= 1 &&
           BootstrapArena::allocate(0) == nullptr;
  }));
}

TEST_CASE("requests that do not fit never turn away one that does") {
  CHECK(holds_in_child([] {
    std::atomic<int> running{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    // Now there is no room for what the threads ask.
    bool served = BootstrapArena::allocate(64) != nullptr;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        ++running;
        while (!stop) static_cast<void>(BootstrapArena::allocate(BootstrapArena::kBytes - 64));
      });
    }
    while (running < 2) std::this_thread::yield();
    for (int i = 0; i < 4000; ++i) served = BootstrapArena::allocate(16) != nullptr && served;
    stop = true;
    for (std::thread& thread : threads) thread.join();
    return served;
  }));
}
