#include "alloctap/os/frozen_process.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "alloctap/os/clock.hpp"
#include "tests/support/frozen_moment.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::FrozenMoment;
using alloctap::testing::FrozenNotes;

std::atomic<int> threads_come{0};
std::atomic<int> steps{0};

void look_at_nothing(FrozenNotes&) {}

/// Whether nobody makes a step for some time.
void watch_steps(FrozenNotes& notes) {
  const int before = steps;
  const std::int64_t begin = os::monotonic_ns();
  while (os::monotonic_ns() < begin + 20'000'000) {
  }
  notes.number = steps - before;
}

}  // namespace

TEST_CASE("other threads stand still while the body looks, or are not there, and go on") {
  std::atomic<bool> done{false};
  std::thread walker([&] {
    while (!done) ++steps;
  });
  while (steps == 0) std::this_thread::yield();
  FrozenMoment frozen(&watch_steps);
  frozen.wait();
  const int then = steps;
  while (steps == then) std::this_thread::yield();
  done = true;
  walker.join();
  REQUIRE(frozen.error() == 0);
  CHECK(frozen.notes().ended == 1);
  CHECK(frozen.notes().number == 0);
}

TEST_CASE("the registers of threads that run are in the list, with their stacks and storage") {
  constexpr std::size_t kThreads = 8;
  std::atomic<bool> done{false};
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  std::vector<std::uintptr_t> places(kThreads);
  std::vector<std::uintptr_t> storages(kThreads);
  std::vector<os::ThreadId> ids(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::size_t local = i;
      places[i] = reinterpret_cast<std::uintptr_t>(&local);
      ids[i] = os::current_thread_id();
      storages[i] = os::thread_storage();
      ++ready;
      while (!done) {
      }
    });
  }
  while (ready < kThreads) std::this_thread::yield();
  FrozenMoment frozen(&look_at_nothing);
  done = true;
  frozen.wait();
  REQUIRE(frozen.error() == 0);
  CHECK(frozen.unseen() == 0);
  CHECK(frozen.notes().threads == kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    const auto seen = std::find_if(frozen.threads().begin(), frozen.threads().end(),
                                   [&](const auto& thread) { return thread.id == ids[i]; });
    REQUIRE(seen != frozen.threads().end());
    CHECK(seen->seen);
    CHECK(seen->stack_pointer <= places[i]);
    CHECK(places[i] - seen->stack_pointer < 4096);
    CHECK(seen->thread_pointer > places[i]);
    CHECK(seen->thread_pointer - places[i] < (8 << 20) + 65536);
    CHECK(seen->count > 16);
    CHECK(seen->thread_storage == storages[i]);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("a process can be frozen while threads come and go") {
  std::atomic<bool> done{false};
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&] {
      while (!done) std::thread([] { ++threads_come; }).join();
    });
  }
  int failed = 0;
  std::size_t unseen = 0;
  for (int i = 0; i < 100; ++i) {
    FrozenMoment frozen(&look_at_nothing);
    frozen.wait();
    failed += frozen.error() != 0 || frozen.notes().ended != 1;
    unseen += frozen.unseen();
  }
  done = true;
  for (std::thread& maker : makers) maker.join();
  CHECK(failed == 0);
  CHECK(unseen == 0);
}

TEST_CASE("more threads than there is room for are told as not seen") {
  std::atomic<bool> done{false};
  std::thread others[3];
  for (std::thread& thread : others) {
    thread = std::thread([&] {
      while (!done) std::this_thread::yield();
    });
  }
  FrozenMoment frozen(&look_at_nothing, 1);
  done = true;
  for (std::thread& thread : others) thread.join();
  frozen.wait();
  CHECK(frozen.error() == 0);
  CHECK(frozen.notes().ended == 1);
  CHECK(frozen.unseen() == 2);
}
