#include "alloctap/meta/stack_totals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/starved_arena.hpp"

namespace {

using alloctap::AllocationTotals;
using alloctap::StackId;
using alloctap::StackTotals;
using alloctap::testing::StarvedArena;

constexpr StackId kHighestId = (1U << 28) - 2;

}  // namespace

TEST_CASE("a stack that allocated nothing has totals of nothing") {
  const auto totals = std::make_unique<StackTotals>();
  for (const StackId stack : {StackId{1}, StackId{100'000}, kHighestId}) {
    CHECK(totals->of(stack).allocations == 0);
    CHECK(totals->of(stack).allocated_bytes == 0);
    CHECK(totals->of(stack).temporary_allocations == 0);
  }
}

TEST_CASE("the totals of each stack are apart, across the borders of chunks") {
  const auto totals = std::make_unique<StackTotals>();
  const std::vector<StackId> stacks{1, 2, 8191, 8192, 8193, 16383, 16384, kHighestId};
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) CHECK(totals->count_allocation(stacks[i], 100 * i + j));
    for (std::size_t j = 0; j < i; ++j) totals->count_temporary(stacks[i]);
  }
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    CAPTURE(stacks[i]);
    const AllocationTotals total = totals->of(stacks[i]);
    CHECK(total.allocations == i + 1);
    CHECK(total.allocated_bytes == 100 * i * (i + 1) + i * (i + 1) / 2);
    CHECK(total.temporary_allocations == i);
  }
}

TEST_CASE("bytes are summed beyond 4 GiB") {
  const auto totals = std::make_unique<StackTotals>();
  constexpr std::uint64_t kLarge = std::uint64_t{3} << 40;
  CHECK(totals->count_allocation(3, kLarge));
  CHECK(totals->count_allocation(3, kLarge));
  CHECK(totals->of(3).allocated_bytes == 2 * kLarge);
}

TEST_CASE("threads that count for the same stacks lose nothing") {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kStacks = 64;
  constexpr std::uint64_t kRounds = 200'000;
  const auto totals = std::make_unique<StackTotals>();
  std::atomic<std::uint64_t> ready{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        // First a new chunk each time, so that the threads race to make it; then the same counters.
        const auto stack = static_cast<StackId>(std::min(i, kStacks - 1) * 8192 + 1);
        if (totals->count_allocation(stack, 3)) totals->count_temporary(stack);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  AllocationTotals sum;
  for (StackId i = 0; i < kStacks; ++i) {
    const AllocationTotals total = totals->of(i * 8192 + 1);
    sum.allocations += total.allocations;
    sum.allocated_bytes += total.allocated_bytes;
    sum.temporary_allocations += total.temporary_allocations;
  }
  CHECK(sum.allocations == kThreads * kRounds);
  CHECK(sum.allocated_bytes == 3 * kThreads * kRounds);
  CHECK(sum.temporary_allocations == kThreads * kRounds);
}

TEST_CASE("without memory a new stack is not counted, and one beside a known one is") {
  const auto totals = std::make_unique<StackTotals>();
  CHECK(totals->count_allocation(1, 10));
  bool beside = false;
  StackId refused = 100'000;
  {
    const StarvedArena starved;
    beside = totals->count_allocation(2, 10);
    while (totals->count_allocation(refused, 10)) refused += 100'000;
    totals->count_temporary(refused);
  }
  CHECK(beside);
  CHECK(totals->of(2).allocations == 1);
  CHECK(refused < 1'000'000);
  CHECK(totals->of(refused).allocations == 0);
  CHECK(totals->of(refused).temporary_allocations == 0);
}
