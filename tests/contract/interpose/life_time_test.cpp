// Calls at the edges: before main, beside sessions, from dlsym, from threads that begin and end.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <malloc.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "alloctap/dump/memory_output.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "interposed_tracker.hpp"

namespace {

using alloctap::testing::Difference;
using alloctap::testing::escape;
using alloctap::testing::EventCount;
using alloctap::testing::InterposedTracker;

/// Allocated before main, freed after it: neither is recorded, both must work.
const std::unique_ptr<int[]> before_main(new int[100]);

__attribute__((constructor(101))) void allocate_first() {
  std::free(escape(std::malloc(10)));
  std::free(escape(std::calloc(10, 10)));
}

/// Frees a block while its thread's last destructors run.
struct FreesLate {
  void* block = nullptr;
  ~FreesLate() { std::free(block); }
};

thread_local FreesLate frees_late;

pthread_key_t make_key() {
  pthread_key_t key{};
  if (pthread_key_create(&key, [](void* block) { std::free(block); }) != 0) std::abort();
  return key;
}

}  // namespace

TEST_CASE("a block from before the session is an unmatched free, and one left over stays live") {
  void* early = escape(std::malloc(10));
  auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  const EventCount count;
  std::free(early);
  void* late = escape(std::malloc(30));
  const Difference difference = count.so_far();
  CHECK(difference.unmatched_frees == 1);
  CHECK(difference.live_bytes == 30);
  session->end();
  std::free(late);
  CHECK(count.so_far().live_bytes == 30);
}

TEST_CASE("outside a session nothing is recorded, and a second session goes on counting") {
  const EventCount count;
  std::free(escape(std::malloc(10)));
  CHECK(count.so_far().allocations == 0);
  const auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  std::free(escape(std::malloc(10)));
  CHECK(count.so_far().allocations == 1);
}

TEST_CASE("a symbol that dlsym does not find, whose error text it allocates, does no harm") {
  const auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  const EventCount count;
  CHECK(dlsym(RTLD_DEFAULT, "alloctap_no_such_symbol") == nullptr);
  CHECK(dlerror() != nullptr);
  CHECK(dlerror() == nullptr);
  CHECK(count.so_far().unmatched_frees == 0);
}

TEST_CASE("two thousand short threads are all counted, and what the tracker keeps of them is not") {
  const auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  static const pthread_key_t key = make_key();
  const EventCount count;
  for (int i = 0; i < 2000; ++i) {
    std::thread([] {
      frees_late.block = escape(std::malloc(11));
      pthread_setspecific(key, escape(std::malloc(13)));
    }).join();
  }
  const Difference difference = count.so_far();
  CHECK(difference.unmatched_frees == 0);
  CHECK(difference.allocations >= 4000);
  CHECK(difference.live_bytes < 100'000);
  CHECK(alloctap::ThreadStates::count() < 200);
}

TEST_CASE("threads that free each other's blocks leave nothing behind") {
  constexpr int kRounds = 20'000;
  const auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  const EventCount count;
  {
    std::atomic<void*> hand_over{nullptr};
    std::thread taker([&] {
      for (int i = 0; i < kRounds; ++i) std::free(hand_over.exchange(nullptr));
    });
    for (int i = 0; i < kRounds; ++i) std::free(hand_over.exchange(escape(std::malloc(24))));
    taker.join();
    std::free(hand_over.load());
  }
  const Difference difference = count.so_far();
  CHECK(difference.unmatched_frees == 0);
  CHECK(difference.live_bytes == 0);
  CHECK(difference.allocations >= kRounds);
}

TEST_CASE("what a dump allocates is not the program's") {
  const auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  const EventCount count;
  {
    alloctap::MemoryOutput output;
    CHECK(InterposedTracker::dump(alloctap::TextDump{}, output).ok());
    CHECK_FALSE(output.text().empty());
  }
  CHECK(count.so_far().allocations == 0);
}

TEST_CASE("a dump enters the allocator not once where its thread must not") {
  const auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  struct mallinfo2 before = mallinfo2();
  {
    const alloctap::OwnAllocations own;
    alloctap::MemoryOutput output;
    CHECK(InterposedTracker::dump(alloctap::TextDump{}, output).ok());
    const struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks == before.uordblks);
  }
}
