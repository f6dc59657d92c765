#include "alloctap/runtime/per_thread.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <utility>

#include "alloctap/os/thread.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::PerThread;
using alloctap::ThreadState;
using alloctap::ThreadStates;
using alloctap::testing::holds_in_child;
using alloctap::testing::StarvedArena;

struct Tally {
  int count = 0;
};

template <int kNumber>
struct Numbered {
  std::array<char, 64> bytes{};
};

template <int... kNumbers>
int claim(ThreadState& thread, std::integer_sequence<int, kNumbers...>) {
  return ((PerThread<Numbered<kNumbers>>::of(thread) != nullptr ? 1 : 0) + ...);
}

}  // namespace

TEST_CASE("each thread keeps one object of a type, and another one of another type") {
  ThreadState& mine = *ThreadStates::mine();
  CHECK(PerThread<Tally>::get_if_exists(mine) == nullptr);
  Tally* const tally = PerThread<Tally>::of(mine);
  REQUIRE(tally != nullptr);
  CHECK(PerThread<Tally>::get_if_exists(mine) == tally);
  CHECK(tally->count == 0);
  tally->count = 5;
  CHECK(PerThread<Tally>::of(mine) == tally);
  CHECK(static_cast<void*>(PerThread<Numbered<0>>::of(mine)) != tally);
  std::thread([&] { CHECK(PerThread<Tally>::of(*ThreadStates::mine()) != tally); }).join();
  CHECK(PerThread<Tally>::of(mine)->count == 5);
}

TEST_CASE("what ended threads have kept is still seen, and handed on with another generation") {
  struct Visits {
    int count = 0;
  };
  std::set<std::pair<const Visits*, std::uint32_t>> seen;
  constexpr int kThreads = 200;
  for (int i = 0; i < kThreads; ++i) {
    std::thread([&] {
      ThreadState& mine = *ThreadStates::mine();
      Visits* const visits = PerThread<Visits>::of(mine);
      ++visits->count;
      seen.emplace(visits, mine.generation);
    }).join();
  }
  int sum = 0;
  int objects = 0;
  PerThread<Visits>::for_each([&](const Visits& visits) {
    sum += visits.count;
    ++objects;
  });
  CHECK(sum == kThreads);
  CHECK(objects < kThreads);
  CHECK(seen.size() == kThreads);
}

TEST_CASE("without memory there is nothing, and there is later") {
  struct Late {
    std::array<char, 32 * 1024> bytes;
  };
  ThreadState& mine = *ThreadStates::mine();
  const void* without = nullptr;
  {
    const StarvedArena starved;
    without = PerThread<Late>::of(mine);
  }
  CHECK(without == nullptr);
  CHECK(PerThread<Late>::of(mine) != nullptr);
}

TEST_CASE("more types than there are places get nothing and harm nobody") {
  // In a child, because the places are gone for good.
  CHECK(holds_in_child([] {
    ThreadState& mine = *ThreadStates::mine();
    Tally* const tally = PerThread<Tally>::of(mine);
    const int claimed = claim(mine, std::make_integer_sequence<int, ThreadState::kMaxKept + 10>{});
    return claimed > 0 && claimed < static_cast<int>(ThreadState::kMaxKept) &&
           PerThread<Tally>::of(mine) == tally;
  }));
}

TEST_CASE("what a thread wrote before it ended is there for who looks, though nobody joined it") {
  struct Counted {
    int count = 0;
  };
  // Relaxed, so that nothing but the state itself tells that the thread's writes are there.
  static std::atomic<alloctap::os::ThreadId> id{0};
  int threads = 0;
  std::size_t before = 0;
  // The states of ended threads are set aside at last, when there are fewer than before.
  for (std::size_t now = ThreadStates::count(); now >= before; now = ThreadStates::count()) {
    before = now;
    id.store(0, std::memory_order_relaxed);
    std::thread([] {
      {
        const alloctap::RecordingScope section;
        ++PerThread<Counted>::of(*section.thread())->count;
      }
      id.store(alloctap::os::current_thread_id(), std::memory_order_relaxed);
    }).detach();
    while (id.load(std::memory_order_relaxed) == 0 ||
           alloctap::os::thread_is_alive(id.load(std::memory_order_relaxed))) {
      std::this_thread::yield();
    }
    ++threads;
  }
  REQUIRE(ThreadStates::stop_world());
  int sum = 0;
  PerThread<Counted>::for_each([&](const Counted& counted) { sum += counted.count; });
  ThreadStates::resume_world();
  CHECK(sum == threads);
}
