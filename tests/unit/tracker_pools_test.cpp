#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "alloctap/annotate.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/heaptrack_api.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/named_pools.hpp"
#include "alloctap/sample/size_range.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/scoped_tags.hpp"
#include "tests/support/block_at.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr std::array<std::uintptr_t, 2> kFirst{0x100, 0x200};
constexpr std::array<std::uintptr_t, 2> kSecond{0x300, 0x200};

struct PoolsConfig : DefaultConfig {
  using Hook = ManualHook<PoolsConfig>;
  using Stack = ScriptedStack;
  using Pools = NamedPools;
};
using PoolTracker = Tracker<PoolsConfig>;

struct SampledConfig : PoolsConfig {
  using Hook = ManualHook<SampledConfig>;
  using Sampling = SizeRange<1000, 2000>;
  using Tags = ScopedTags;
};

struct DeafConfig : PoolsConfig {
  using Hook = ManualHook<DeafConfig>;
  using Pools = NoPools;
};

template <class AnyTracker>
PoolSummary summary_of(std::string_view name) {
  const alloctap::Result<Snapshot> snapshot = AnyTracker::snapshot();
  REQUIRE(snapshot.ok());
  const PoolSummary* const pool = snapshot->pools.find(name);
  return pool == nullptr ? PoolSummary() : *pool;
}

void check_live(std::string_view name, std::uint64_t blocks, std::uint64_t bytes) {
  const PoolSummary pool = summary_of<PoolTracker>(name);
  CHECK(pool.live_allocations == blocks);
  CHECK(pool.live_bytes == bytes);
}

}  // namespace

TEST_CASE("a snapshot has each pool with its stacks, and nothing of it in other numbers") {
  const auto session = PoolTracker::start();
  REQUIRE(session.ok());
  const memory_pool pool{"tracker.sums"};
  ScriptedStack::play(kFirst);
  pool.allocate(at(0x1000), 100);
  pool.allocate(at(0x2000), 50);
  ScriptedStack::play(kSecond);
  pool.reallocate(at(0x2000), at(0x3000), 70);
  pool.reallocate(nullptr, at(0x4000), 5);
  pool.free(at(0x1000));
  pool.set_overhead(4096);
  const alloctap::Result<Snapshot> snapshot = PoolTracker::snapshot();
  REQUIRE(snapshot.ok());
  CHECK(snapshot->totals.live_bytes == 0);
  CHECK(snapshot->totals.allocations == 0);
  REQUIRE(snapshot->pools.known);
  const PoolSummary* const sum = snapshot->pools.find("tracker.sums");
  REQUIRE(sum != nullptr);
  CHECK_FALSE(sum->destroyed);
  CHECK(sum->allocations == 4);
  CHECK(sum->allocated_bytes == 225);
  CHECK(sum->live_allocations == 2);
  CHECK(sum->live_bytes == 75);
  CHECK(sum->peak_live_bytes == 175);
  CHECK(sum->overhead_bytes == 4096);
  CHECK(sum->deallocations() == 2);
  CHECK(sum->freed_bytes() == 150);
  const auto stacks = snapshot->pools.stacks_of(*sum);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].live_bytes == 0);
  CHECK(stacks[0].allocated_bytes == 150);
  CHECK(stacks[1].live_bytes == 75);
  CHECK(stacks[1].live_allocations == 2);
  CHECK(snapshot->table->frames(stacks[1].stack)[0] == kSecond[0]);
}

TEST_CASE("a reallocation that failed changes nothing, one to nothing frees") {
  const auto session = PoolTracker::start();
  ScriptedStack::play(kFirst);
  const memory_pool pool{"tracker.reallocations"};
  pool.allocate(at(0x1000), 100);
  pool.reallocate(at(0x1000), nullptr, 200);
  check_live("tracker.reallocations", 1, 100);
  pool.reallocate(at(0x1000), at(0x1000), 300);
  check_live("tracker.reallocations", 1, 300);
  pool.reallocate(at(0x1000), nullptr, 0);
  check_live("tracker.reallocations", 0, 0);
}

TEST_CASE("a pool is reset, moved, and ends with its blocks") {
  const auto session = PoolTracker::start();
  ScriptedStack::play(kFirst);
  {
    memory_pool pool{"tracker.ends"};
    pool.allocate(at(0x1000), 10);
    pool.reset();
    check_live("tracker.ends", 0, 0);
    pool.allocate(at(0x1000), 20);
    memory_pool other{std::move(pool)};
    other = memory_pool{"tracker.other"};
    CHECK(summary_of<PoolTracker>("tracker.ends").destroyed);
    check_live("tracker.ends", 0, 0);
    other.allocate(at(0x1000), 30);
    check_live("tracker.other", 1, 30);
  }
  CHECK(summary_of<PoolTracker>("tracker.other").destroyed);
  CHECK(summary_of<PoolTracker>("tracker.ends").allocated_bytes == 30);
}

TEST_CASE("what is wrong is counted") {
  const auto session = PoolTracker::start();
  ScriptedStack::play(kFirst);
  const alloctap::Result<Snapshot> before = PoolTracker::snapshot();
  const alloctap_pool pool = alloctap_pool_create("tracker.faults");
  const alloctap_pool other = alloctap_pool_create("tracker.faults");
  alloctap_pool_allocate(pool, at(0x1000), 10);
  alloctap_pool_allocate(pool, at(0x1000), 10);
  alloctap_pool_free(other, at(0x1000));
  alloctap_pool_free(pool, at(0x7000));
  alloctap_pool_free(pool, nullptr);
  alloctap_pool_allocate(pool, nullptr, 10);
  alloctap_pool_destroy(pool);
  alloctap_pool_free(pool, at(0x1000));
  alloctap_pool_overhead(pool, 1);
  alloctap_pool_destroy(pool);
  alloctap_pool_reset(0xFFFFFFFF);
  alloctap_pool_allocate(0, at(0x1000), 10);
  alloctap_pool_destroy(other);
  const alloctap::Result<Snapshot> after = PoolTracker::snapshot();
  CHECK(after->pools.announced_twice == before->pools.announced_twice + 1);
  CHECK(after->pools.wrong_pool_frees == before->pools.wrong_pool_frees + 1);
  CHECK(*after->pools.unknown_frees == *before->pools.unknown_frees + 1);
  CHECK(after->pools.unknown_pools == before->pools.unknown_pools + 4);
}

TEST_CASE("before the session and after it no block is heard, and pools are kept") {
  const memory_pool pool{"tracker.sessions"};
  pool.allocate(at(0x1000), 10);
  {
    const auto session = PoolTracker::start();
    ScriptedStack::play(kFirst);
    pool.allocate(at(0x2000), 20);
  }
  pool.allocate(at(0x3000), 30);
  pool.free(at(0x2000));
  check_live("tracker.sessions", 1, 20);
}

TEST_CASE("a pool that ends while no session runs, or inside a dump, ends with its blocks") {
  ScriptedStack::play(kFirst);
  const auto check_ended = [](std::string_view name) {
    check_live(name, 0, 0);
    const alloctap::Result<Snapshot> snapshot = PoolTracker::snapshot();
    const PoolSummary* const pool = snapshot->pools.find(name);
    REQUIRE(pool->stack_count == 1);
    CHECK(snapshot->pools.stacks[pool->first_stack].live_bytes == 0);
    CHECK(snapshot->pools.stacks[pool->first_stack].allocated_bytes == 7);
  };
  {
    const memory_pool pool{"tracker.ended_late"};
    const auto session = PoolTracker::start();
    pool.allocate(at(0x10), 7);
  }
  check_ended("tracker.ended_late");
  // The next pool of that name has none of its blocks.
  const memory_pool next{"tracker.ended_late"};
  check_ended("tracker.ended_late");

  const auto session = PoolTracker::start();
  auto dumped = std::make_unique<memory_pool>("tracker.ended_in_dump");
  dumped->allocate(at(0x10), 7);
  CallbackOutput output([&](std::string_view) {
    dumped.reset();
    return alloctap::Status();
  });
  CHECK(PoolTracker::dump(TextDump{}, output).ok());
  check_ended("tracker.ended_in_dump");
}

TEST_CASE("every block of a pool is recorded where the tracker leaves some out, with its tag") {
  const auto session = Tracker<SampledConfig>::start();
  ScriptedStack::play(kFirst);
  const memory_pool pool{"tracker.sampled"};
  const tag_scope tag{"PoolTag"};
  pool.allocate(at(0x1000), 10);
  pool.allocate(at(0x2000), 1500);
  const alloctap::Result<Snapshot> snapshot = Tracker<SampledConfig>::snapshot();
  const PoolSummary* const sum = snapshot->pools.find("tracker.sampled");
  REQUIRE(sum != nullptr);
  CHECK(sum->live_bytes == 1510);
  const StackId stack = snapshot->pools.stacks_of(*sum)[0].stack;
  CHECK(process_tags.name(snapshot->table->owner(stack).tag) == "PoolTag");
}

TEST_CASE("a tracker without the policy knows of no pools") {
  const auto session = Tracker<DeafConfig>::start();
  const memory_pool pool{"tracker.deaf"};
  pool.allocate(at(0x1000), 10);
  const alloctap::Result<Snapshot> snapshot = Tracker<DeafConfig>::snapshot();
  CHECK_FALSE(snapshot->pools.known);
  CHECK(snapshot->pools.pools.empty());
}

TEST_CASE("two trackers hear the same pool") {
  const auto session = PoolTracker::start();
  const auto other = Tracker<SampledConfig>::start();
  ScriptedStack::play(kFirst);
  const memory_pool pool{"tracker.both"};
  pool.allocate(at(0x1000), 10);
  check_live("tracker.both", 1, 10);
  CHECK(summary_of<Tracker<SampledConfig>>("tracker.both").live_bytes == 10);
}

TEST_CASE("the error number stays") {
  const auto session = PoolTracker::start();
  ScriptedStack::play(kFirst);
  errno = 77;
  const memory_pool pool{"tracker.errno"};
  for (std::uintptr_t i = 1; i < 10'000; ++i) pool.allocate(at(i * 16), 10);
  pool.reset();
  CHECK(errno == 77);
}

TEST_CASE("threads share pools, and snapshots are taken meanwhile") {
  const auto session = PoolTracker::start();
  const memory_pool shared{"tracker.threads"};
  constexpr std::uintptr_t kThreads = 4;
  constexpr std::uintptr_t kRounds = 2'000;
  std::atomic<std::uintptr_t> ended{0};
  std::vector<std::thread> threads;
  for (std::uintptr_t thread = 1; thread <= kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      ScriptedStack::play(thread % 2 == 0 ? kFirst : kSecond);
      for (std::uintptr_t i = 1; i <= kRounds; ++i) {
        const memory_pool own{"tracker.own"};
        own.allocate(at(0x10), 1);
        shared.allocate(at(thread << 32 | i << 4), thread);
        if (i % 2 == 0) shared.free(at(thread << 32 | i << 4));
      }
      ended.fetch_add(1);
    });
  }
  while (ended.load() < kThreads) {
    const PoolSummary sum = summary_of<PoolTracker>("tracker.threads");
    CHECK(sum.live_bytes <= sum.allocated_bytes);
  }
  for (std::thread& thread : threads) thread.join();
  check_live("tracker.threads", kThreads * kRounds / 2, (1 + 2 + 3 + 4) * kRounds / 2);
  check_live("tracker.own", 0, 0);
}

TEST_CASE("while recording is paused no block comes, and unknown frees cannot be told") {
  const auto session = PoolTracker::start();
  ScriptedStack::play(kFirst);
  const memory_pool pool{"tracker.pauses"};
  pool.allocate(at(0x1000), 10);
  PoolTracker::pause();
  pool.allocate(at(0x2000), 20);
  pool.free(at(0x1000));
  PoolTracker::resume();
  pool.free(at(0x2000));
  check_live("tracker.pauses", 0, 0);
  CHECK(summary_of<PoolTracker>("tracker.pauses").allocations == 1);
  CHECK_FALSE(PoolTracker::snapshot()->pools.unknown_frees.has_value());
}

TEST_CASE("threads whose first calls are heaptrack's share one pool") {
  const auto session = PoolTracker::start();
  constexpr int kThreads = 8;
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (std::uintptr_t i = 1; i <= kThreads; ++i) {
    threads.emplace_back([&ready, i] {
      ScriptedStack::play(kFirst);
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      HeaptrackPool::allocate(at(i * 16), 1, ALLOCTAP_CALL_ORIGIN());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const alloctap::Result<Snapshot> snapshot = PoolTracker::snapshot();
  REQUIRE(snapshot.ok());
  int pools = 0;
  for (const PoolSummary& pool : snapshot->pools.pools) {
    pools += static_cast<int>(pool.name == "heaptrack");
  }
  CHECK(pools == 1);
  check_live("heaptrack", kThreads, kThreads);
}
