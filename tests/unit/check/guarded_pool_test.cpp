#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "alloctap/check/guarded_blocks.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "tests/support/live_object.hpp"

namespace {

using namespace alloctap;

constexpr GuardedPool::Limits kLimits{
    .bytes = std::size_t{64} << 20, .runs = 1000, .split_runs = 1000};

GuardedPool& new_pool() { return alloctap::testing::make_kept<GuardedPool>(); }

}  // namespace

TEST_CASE("nothing is of a pool that was never asked") {
  const GuardedPool pool;
  int local = 0;
  CHECK_FALSE(pool.contains(nullptr));
  CHECK_FALSE(pool.contains(&local));
  CHECK_FALSE(pool.is_made());
}

TEST_CASE("a run is whole pages of the pool, and each page knows whose it is") {
  GuardedPool& pool = new_pool();
  const std::size_t page = os::page_size();
  const GuardedPool::Run run = pool.take(3, 7, kLimits);
  REQUIRE(run.begin != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(run.begin) % page == 0);
  CHECK(run.before == GuardedPool::kNone);
  for (std::size_t i = 0; i < 3 + GuardedPool::kGuards; ++i) {
    REQUIRE(pool.contains(run.begin + i * page));
    CHECK(pool.owner(run.begin + i * page) == 7);
  }
  const GuardedPool::Run next = pool.take(1, 8, kLimits);
  CHECK(next.begin == run.begin + (3 + GuardedPool::kGuards) * page);
  CHECK(pool.neighbours(run.begin + page)[0] == GuardedPool::kNone);
  CHECK(pool.neighbours(run.begin + page)[1] == 8);
  CHECK(pool.neighbours(next.begin)[0] == 7);
}

TEST_CASE("pages that are opened are zero, and zero again after they were closed") {
  GuardedPool& pool = new_pool();
  const GuardedPool::Run run = pool.take(1, 7, kLimits);
  for (int round = 0; round < 3; ++round) {
    REQUIRE(pool.open(run.begin, os::page_size()));
    CHECK(run.begin[0] == std::byte{});
    CHECK(run.begin[os::page_size() - 1] == std::byte{});
    std::memset(run.begin, 7, os::page_size());
    REQUIRE(pool.close(run.begin, os::page_size()));
  }
}

TEST_CASE("no more runs are out than may be, and what comes back makes room") {
  GuardedPool& pool = new_pool();
  constexpr GuardedPool::Limits kTwo{.bytes = std::size_t{64} << 20, .runs = 2, .split_runs = 2};
  const GuardedPool::Run first = pool.take(1, 1, kTwo);
  CHECK(pool.take(1, 2, kTwo).begin != nullptr);
  CHECK(pool.take(1, 3, kTwo).begin == nullptr);
  pool.give_back(first.begin + 5);
  CHECK(pool.owner(first.begin) == 1);
  CHECK(pool.take(1, 3, kTwo).before == 1);
  CHECK(pool.owner(first.begin) == 3);
}

TEST_CASE("a longer run serves where there is no other, and stays as long") {
  GuardedPool& pool = new_pool();
  constexpr GuardedPool::Limits kSmall{
      .bytes = std::size_t{1} << 20, .runs = 100000, .split_runs = 100000};
  std::vector<std::byte*> runs;
  for (GuardedPool::Run run; (run = pool.take(2, 1, kSmall)).begin != nullptr;) {
    runs.push_back(run.begin);
  }
  REQUIRE(runs.size() > 3);
  while (pool.take(1, 1, kSmall).begin != nullptr) {
  }
  pool.give_back(runs[1]);
  CHECK(pool.take(1, 2, kSmall).begin == runs[1]);
  CHECK(pool.owner(runs[1] + 3 * os::page_size()) == 2);
  pool.give_back(runs[1]);
  CHECK(pool.take(2, 3, kSmall).begin == runs[1]);
}

TEST_CASE("fresh runs are spared where many wait") {
  GuardedPool& pool = new_pool();
  constexpr GuardedPool::Limits kFour{.bytes = std::size_t{64} << 20, .runs = 4, .split_runs = 4};
  std::set<std::byte*> seen;
  for (int i = 0; i < 100; ++i) {
    const GuardedPool::Run run = pool.take(1, 1, kFour);
    seen.insert(run.begin);
    pool.give_back(run.begin);
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("runs that came back are handed out last, the oldest first, for as many pages") {
  GuardedPool& pool = new_pool();
  constexpr GuardedPool::Limits kSmall{
      .bytes = std::size_t{4} << 20, .runs = 100000, .split_runs = 100000};
  GuardedPool::Number number = 1;
  std::set<std::byte*> fresh;
  const GuardedPool::Run first = pool.take(1, number++, kSmall);
  const GuardedPool::Run second = pool.take(1, number++, kSmall);
  pool.give_back(second.begin);
  pool.give_back(first.begin);
  for (;;) {
    const GuardedPool::Run run = pool.take(1, number++, kSmall);
    REQUIRE(run.begin != nullptr);
    if (run.before != GuardedPool::kNone) {
      CHECK(run.begin == second.begin);
      CHECK(run.before == 2);
      break;
    }
    CHECK(fresh.insert(run.begin).second);
  }
  CHECK(fresh.size() > 50);
  CHECK(pool.take(2, number++, kSmall).begin == nullptr);
  CHECK(pool.take(1, number++, kSmall).begin == first.begin);
  CHECK(pool.take(1, number++, kSmall).begin == nullptr);
}

TEST_CASE("a run whose pages were opened for a fault says so to the next one who gets it") {
  GuardedPool& pool = new_pool();
  constexpr GuardedPool::Limits kSmall{
      .bytes = std::size_t{1} << 20, .runs = 100000, .split_runs = 100000};
  const GuardedPool::Run run = pool.take(40, 1, kSmall);
  REQUIRE(run.begin != nullptr);
  REQUIRE(pool.open_page(run.begin + os::page_size()));
  run.begin[os::page_size()] = std::byte{7};
  pool.give_back(run.begin);
  GuardedPool::Run again;
  do again = pool.take(40, 2, kSmall);
  while (again.begin != nullptr && again.begin != run.begin);
  REQUIRE(again.begin == run.begin);
  CHECK(again.has_open_pages);
  CHECK(pool.close_open_pages(again));
  pool.give_back(run.begin);
  CHECK_FALSE(pool.take(40, 3, kSmall).has_open_pages);
}

TEST_CASE("pages that were opened behind what a shorter block asks for are closed as well") {
  GuardedPool& pool = new_pool();
  constexpr GuardedPool::Limits kSmall{
      .bytes = std::size_t{1} << 20, .runs = 100000, .split_runs = 100000};
  const GuardedPool::Run run = pool.take(60, 1, kSmall);
  REQUIRE(run.begin != nullptr);
  CHECK(run.pages >= 62);
  std::byte* const last = run.begin + 59 * os::page_size();
  REQUIRE(pool.open_page(last));
  pool.give_back(run.begin);
  GuardedPool::Run again;
  do again = pool.take(40, 2, kSmall);
  while (again.begin != nullptr && again.begin != run.begin);
  REQUIRE(again.begin == run.begin);
  REQUIRE(pool.close_open_pages(again));
  const auto address = reinterpret_cast<std::uintptr_t>(last);
  CHECK_FALSE(os::may_write(address, os::page_size()));
}

TEST_CASE("a pool that the system has no addresses for hands out nothing") {
  GuardedPool& pool = new_pool();
  CHECK(pool.take(1, 1, {.bytes = 4096, .runs = 10, .split_runs = 10}).begin == nullptr);
  CHECK(pool.is_made());
  CHECK(pool.take(1, 1, kLimits).begin == nullptr);
  GuardedPool& other = new_pool();
  CHECK(other.take(std::size_t{1} << 40, 1, kLimits).begin == nullptr);
}
