#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "alloctap/impl/tracker.hpp"
#include "tests/unit/record/recorder_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

template <int number>
struct Test;

/// The recorder of a test of its own.
template <int number>
struct Paused : Program<RecorderConfig<Test<number>>> {
  using Record = Program<RecorderConfig<Test<number>>>::Record;

  Paused() {
    ScriptedStack::play(kStack);
    Record::begin_session();
  }

  static void check_live(std::uint64_t blocks, std::uint64_t bytes) {
    const Totals totals = Paused::snapshot().totals;
    CHECK(totals.live_allocations == blocks);
    CHECK(totals.live_bytes == bytes);
  }
};

struct SessionConfig : RecorderConfig<SessionConfig> {
  using Hook = ManualHook<SessionConfig>;
};

}  // namespace

TEST_CASE("a pause keeps allocations out and lets known blocks go") {
  using P = Paused<0>;
  const P program;
  P::allocate(0x1000, 10);
  P::allocate(0x2000, 20);
  P::Record::mode().pause();
  CHECK(P::Record::mode().paused());
  P::allocate(0x3000, 30);
  P::allocate(0x4000, 40);
  P::free(0x1000);
  P::free(0x3000);
  P::check_live(1, 20);
  P::Record::mode().resume();
  CHECK_FALSE(P::Record::mode().paused());
  P::free(0x4000);
  P::allocate(0x5000, 50);
  P::check_live(2, 70);
  const Totals totals = P::snapshot().totals;
  CHECK(totals.allocations == 3);
  CHECK(totals.allocated_bytes == 80);
  CHECK(totals.deallocations == 1);
  CHECK(totals.temporary_allocations == 0);
}

TEST_CASE("a reallocation in a pause ends the block that was known") {
  using P = Paused<1>;
  const P program;
  P::allocate(0x1000, 10);
  P::allocate(0x2000, 20);
  P::Record::mode().pause();
  P::reallocate(0x1000, 0x3000, 100);
  P::Record::cancel_reallocate(P::begin_reallocate(0x2000));
  P::check_live(1, 20);
  P::Record::mode().resume();
  P::reallocate(0x3000, 0x3000, 200);
  P::check_live(2, 220);
}

TEST_CASE("what is allocated between two others keeps them from being temporary, paused or not") {
  using P = Paused<2>;
  const P program;
  P::allocate(0x1000, 10);
  P::Record::mode().pause();
  P::allocate(0x2000, 20);
  P::Record::mode().resume();
  P::free(0x2000);
  P::free(0x1000);
  CHECK(P::snapshot().totals.temporary_allocations == 0);
}

TEST_CASE("mappings are recorded in a pause too") {
  using P = Paused<3>;
  const P program;
  P::Record::mode().pause();
  P::Record::on_map({.address = at(0x100000), .length = 0x3000, .origin = {}});
  DetachedMappings gone =
      P::Record::begin_unmap({.address = at(0x101000), .length = 0x1000, .origin = {}});
  P::Record::finish_unmap(gone);
  P::Record::mode().resume();
  CHECK(P::snapshot().mapping_totals.live_bytes == 0x2000);
}

TEST_CASE("pauses nest, and one that is not in force cannot be resumed") {
  using P = Paused<4>;
  const P program;
  P::Record::mode().resume();
  P::allocate(0x1000, 1);
  P::Record::mode().pause();
  P::Record::mode().pause();
  P::Record::mode().resume();
  CHECK(P::Record::mode().paused());
  P::allocate(0x2000, 2);
  P::Record::mode().resume();
  P::Record::mode().resume();
  CHECK_FALSE(P::Record::mode().paused());
  P::allocate(0x3000, 4);
  P::check_live(2, 5);
  P::Record::mode().pause();
  P::allocate(0x4000, 8);
  P::check_live(2, 5);
  P::Record::mode().resume();
  CHECK(P::Record::mode().pauses() == 3);
}

TEST_CASE("a pause belongs to a session, and is told in its account") {
  using T = Tracker<SessionConfig>;
  ScriptedStack::play(kStack);
  T::pause();
  CHECK_FALSE(T::paused());
  {
    const auto session = T::start();
    REQUIRE(session.ok());
    T::Hook::on_allocate(at(0x1000), 1);
    T::Hook::on_free(at(0x9000));
    const DataQuality account = T::snapshot()->account;
    CHECK(account.pauses == 0);
    CHECK(account.unmatched_frees == 1);
    CHECK(account.events == 2);
    T::pause();
    CHECK(T::paused());
  }
  const auto session = T::start();
  REQUIRE(session.ok());
  CHECK_FALSE(T::paused());
  T::Hook::on_allocate(at(0x2000), 2);
  T::pause();
  T::resume();
  const auto snapshot = T::snapshot();
  REQUIRE(snapshot.ok());
  CHECK(snapshot->totals.live_bytes == 3);
  CHECK(snapshot->account.pauses == 2);
  CHECK_FALSE(snapshot->account.unmatched_frees.has_value());
  CHECK(snapshot->account.events == 2);
}

TEST_CASE("a pause holds for every thread, and every thread may make one") {
  using P = Paused<6>;
  const P program;
  constexpr std::uintptr_t kBlocks = 1000;
  for (std::uintptr_t i = 1; i <= kBlocks; ++i) P::allocate(0x10000 + 16 * i, 1);
  P::Record::mode().pause();
  std::thread([] {
    ScriptedStack::play(kStack);
    for (std::uintptr_t i = 1; i <= kBlocks; ++i) {
      P::allocate(0x80000 + 16 * i, 1);
      if (i % 2 == 0) P::free(0x10000 + 16 * i);
    }
    P::Record::mode().pause();
  }).join();
  P::check_live(kBlocks / 2, kBlocks / 2);
  P::Record::mode().resume();
  CHECK(P::Record::mode().paused());
  P::Record::mode().resume();
  std::thread([] {
    ScriptedStack::play(kStack);
    for (std::uintptr_t i = 1; i <= kBlocks; ++i) P::free(0x80000 + 16 * i);
    P::allocate(0x10, 100);
  }).join();
  P::check_live(kBlocks / 2 + 1, kBlocks / 2 + 100);
}

TEST_CASE("threads that pause and resume at random leave recording on, and live numbers right") {
  using P = Paused<7>;
  const P program;
  std::atomic<bool> done{false};
  std::thread switcher([&done] {
    while (!done.load()) {
      P::Record::mode().pause();
      P::Record::mode().pause();
      P::Record::mode().resume();
      P::Record::mode().resume();
    }
  });
  const auto work = [](std::uintptr_t base) {
    ScriptedStack::play(kStack);
    for (std::uintptr_t round = 0; round < 20'000; ++round) {
      const std::uintptr_t block = base + 16 * (round % 64);
      P::allocate(block, 8);
      P::free(block);
    }
  };
  std::thread other(work, 0x100000);
  work(0x200000);
  other.join();
  done.store(true);
  switcher.join();
  CHECK_FALSE(P::Record::mode().paused());
  P::check_live(0, 0);
  P::allocate(0x300000, 8);
  P::check_live(1, 8);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.allocations == snapshot.totals.deallocations + 1);
  CHECK(snapshot.account.unseen_frees == 0);
}
