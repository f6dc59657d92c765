#include "alloctap/check/checked_blocks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/support/brought_in.hpp"

using alloctap::BlockPool;
using alloctap::CheckedBlock;
using alloctap::CheckedBlocks;

namespace {

/// Nobody's memory: blocks are told apart by their addresses alone.
std::byte* address(std::uintptr_t offset) {
  return reinterpret_cast<std::byte*>(std::uintptr_t{0x10'0000'0000} + offset);
}

BlockPool::Number add(CheckedBlocks& blocks, std::byte* begin, std::uint64_t size,
                      std::uint32_t guards = 0) {
  const BlockPool::Number number = blocks.pool().take(0);
  REQUIRE(number != BlockPool::kNone);
  CheckedBlock& block = blocks[number];
  block.set_begin(begin);
  block.size = size;
  block.front = block.front_guard = block.rear_guard = guards;
  BlockPool::Number replaced = 0;
  REQUIRE(blocks.insert(number, replaced));
  return number;
}

}  // namespace

TEST_CASE("a block is found where it begins, and nowhere else by that") {
  static constinit CheckedBlocks blocks;
  const auto number = add(blocks, address(0), 40);
  CHECK(blocks.at(address(0)) == number);
  CHECK(blocks.at(address(16)) == BlockPool::kNone);
  CHECK(blocks.at(address(8)) == BlockPool::kNone);
  CHECK(blocks.at(nullptr) == BlockPool::kNone);
  CHECK(blocks.at(reinterpret_cast<void*>(UINTPTR_MAX - 15)) == BlockPool::kNone);
}

TEST_CASE("a block is found from any address inside, across many regions") {
  static constinit CheckedBlocks blocks;
  for (const std::uint64_t size : {1U, 16U, 100U, 4096U, 5000U, 100'000U}) {
    CAPTURE(size);
    const auto number = add(blocks, address(0x100'0000 + size * 0x100), size);
    std::byte* const begin = blocks[number].begin();
    for (const std::uint64_t offset : {std::uint64_t{0}, size / 3, size / 2, size - 1}) {
      CHECK(blocks.around(begin + offset) == number);
    }
    CHECK(blocks.around(begin + size) == BlockPool::kNone);
    CHECK(blocks.around(begin - 1) == BlockPool::kNone);
  }
}

TEST_CASE("a huge block is found from any address inside, without a word for each of its pages") {
  static constinit CheckedBlocks blocks;
  constexpr std::uint64_t kSize = std::uint64_t{1} << 33;
  BlockPool::Number number = BlockPool::kNone;
  CHECK(alloctap::testing::resident_growth([&] { number = add(blocks, address(0x1230), kSize); }) <
        std::ptrdiff_t{kSize >> 8});
  for (std::uint64_t offset = 0; offset < kSize; offset += kSize / 999) {
    CAPTURE(offset);
    REQUIRE(blocks.around(address(0x1230 + offset)) == number);
  }
  CHECK(blocks.around(address(0x1230 + kSize - 1)) == number);
  CHECK(blocks.around(address(0x1230 + kSize)) == BlockPool::kNone);
  REQUIRE(blocks.end_life(number, address(0x1230)));
  const auto later = add(blocks, address(0x4000'0000), 100);
  CHECK(blocks.around(address(0x4000'0000)) == later);
  CHECK(blocks.around(address(0x4000'0000 - 8)) == number);
  blocks.forget(number, 0);
  CHECK(blocks.around(address(0x4000'0000 - 8)) == BlockPool::kNone);
}

TEST_CASE("guards belong to their block") {
  static constinit CheckedBlocks blocks;
  const auto number = add(blocks, address(64), 20, 32);
  CHECK(blocks.around(address(32)) == number);
  CHECK(blocks.around(address(64 + 20 + 31)) == number);
  CHECK(blocks.around(address(31)) == BlockPool::kNone);
  CHECK(blocks.around(address(64 + 20 + 32)) == BlockPool::kNone);
}

TEST_CASE("a life ends once, on whatever thread") {
  static constinit CheckedBlocks blocks;
  const auto number = add(blocks, address(0), 40);
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (blocks.end_life(number, address(0))) ended.fetch_add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(ended.load() == 1);
  CHECK(blocks.at(address(0)) == number);
  CHECK(blocks.around(address(8)) == number);
}

TEST_CASE("a live block is found before a freed one that lay in it") {
  static constinit CheckedBlocks blocks;
  const auto inner = add(blocks, address(0x40), 32);
  REQUIRE(blocks.end_life(inner, address(0x40)));
  const auto outer = add(blocks, address(0), 256);
  CHECK(blocks.around(address(0x48)) == outer);
  CHECK(blocks.at(address(0x40)) == inner);
}

TEST_CASE("a block whose free was not seen makes room, and is told") {
  static constinit CheckedBlocks blocks;
  const auto old = add(blocks, address(0), 40);
  const auto number = blocks.pool().take(0);
  blocks[number].set_begin(address(0));
  blocks[number].size = 8;
  BlockPool::Number replaced = 0;
  REQUIRE(blocks.insert(number, replaced));
  CHECK(replaced == old);
  CHECK(blocks.at(address(0)) == number);
}

TEST_CASE("what is forgotten leaves no trace, but for what came in its place") {
  static constinit CheckedBlocks blocks;
  const auto first = add(blocks, address(0), 9000);
  REQUIRE(blocks.end_life(first, address(0)));
  const auto second = add(blocks, address(0), 16);
  blocks.forget(first, 0);
  CHECK(blocks.at(address(0)) == second);
  CHECK(blocks.around(address(8500)) == BlockPool::kNone);
  REQUIRE(blocks.end_life(second, address(0)));
  blocks.forget(second, 0);
  CHECK(blocks.at(address(0)) == BlockPool::kNone);
}

TEST_CASE("a life is not ended by who comes too late: its record may be another block's") {
  static constinit CheckedBlocks blocks;
  const auto number = add(blocks, address(0), 40);
  CHECK_FALSE(blocks.end_life(number, address(16)));
  CHECK(blocks.end_life(number, address(0)));
  CHECK_FALSE(blocks.end_life(number, address(0)));
}

TEST_CASE("blocks live and end while records move on from one thread to the next") {
  static constinit CheckedBlocks blocks;
  constexpr std::uintptr_t kThreads = 16;
  constexpr std::size_t kRounds = 200'000;
  constexpr std::size_t kLive = 32;
  constexpr std::size_t kRemembered = 4;
  std::mutex lock;
  std::deque<BlockPool::Number> remembered;
  const auto remember = [&](BlockPool::Number number) {
    const std::lock_guard hold(lock);
    remembered.push_back(number);
    if (remembered.size() <= kRemembered) return;
    blocks.forget(remembered.front(), 0);
    remembered.pop_front();
  };
  std::atomic<int> failures{0};
  const auto live = [&](std::uintptr_t first) {
    std::array<BlockPool::Number, kLive> mine{};
    for (std::size_t i = 0; i < kRounds; ++i) {
      std::byte* const begin = address((first + i % kLive) * 64);
      BlockPool::Number& number = mine[i % kLive];
      const bool lived = number == BlockPool::kNone ||
                         (blocks.at(begin) == number && blocks.end_life(number, begin));
      if (!lived) failures.fetch_add(1);
      if (number != BlockPool::kNone) remember(number);
      number = blocks.pool().take(0);
      blocks[number].set_begin(begin);
      blocks[number].size = 16;
      BlockPool::Number replaced = 0;
      if (!blocks.insert(number, replaced) || replaced != 0) failures.fetch_add(1);
    }
  };
  std::vector<std::thread> threads;
  for (std::uintptr_t t = 0; t < kThreads; ++t) threads.emplace_back(live, t * kLive);
  for (std::thread& thread : threads) thread.join();
  CHECK(failures.load() == 0);
}

TEST_CASE("numbers are handed out once at a time, to all threads") {
  static constinit BlockPool pool;
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  std::array<std::vector<BlockPool::Number>, kThreads> taken;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto number = pool.take(t % 2);
        taken[t].push_back(number);
        if (i % 3 == 0) {
          pool.give_back(number, t);
          taken[t].pop_back();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<BlockPool::Number> all;
  for (const auto& some : taken) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(all.front() != BlockPool::kNone);
}
