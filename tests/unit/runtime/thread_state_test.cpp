#include "alloctap/runtime/thread_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/child_process.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::inside_tracker;
using alloctap::RecordingScope;
using alloctap::ThreadState;
using alloctap::ThreadStates;
using alloctap::WorldGate;
using std::chrono::milliseconds;

/// Runs `body` on a thread of its own, to the end.
template <class Body>
void on_new_thread(Body&& body) {
  std::thread(body).join();
}

std::size_t states_made() {
  std::size_t made = 0;
  ThreadStates::for_each([&](const ThreadState&) { ++made; });
  return made;
}

}  // namespace

TEST_CASE("a thread has one state for life, and no other thread has it") {
  ThreadState* const mine = ThreadStates::mine();
  REQUIRE(mine != nullptr);
  CHECK(ThreadStates::mine() == mine);
  CHECK(mine->thread_id == alloctap::os::current_thread_id());
  on_new_thread([&] { CHECK(ThreadStates::mine() != mine); });
  on_new_thread([&] { CHECK(RecordingScope().thread() == ThreadStates::mine()); });
}

TEST_CASE("closing the gate waits for the thread that records") {
  WorldGate::initialize();
  std::atomic<bool> inside{false};
  std::atomic<bool> done{false};
  std::thread thread([&] {
    const RecordingScope section;
    inside = true;
    std::this_thread::sleep_for(milliseconds(50));
    done = true;
  });
  while (!inside) std::this_thread::yield();
  CHECK(ThreadStates::stop_world());
  CHECK(done);
  ThreadStates::resume_world();
  thread.join();
}

TEST_CASE("a closed gate blocks threads that come, known and new, until it opens") {
  WorldGate::initialize();
  std::atomic<int> ready{0};
  std::atomic<bool> closed{false};
  std::atomic<int> entered{0};
  const auto enter = [&] {
    ++ready;
    while (!closed) std::this_thread::yield();
    const RecordingScope section;
    ++entered;
  };
  std::thread known([&] {
    {
      const RecordingScope section;
    }
    enter();
  });
  std::thread unknown(enter);
  while (ready < 2) std::this_thread::yield();
  CHECK(ThreadStates::stop_world());
  closed = true;
  std::this_thread::sleep_for(milliseconds(50));
  CHECK(entered == 0);
  ThreadStates::resume_world();
  known.join();
  unknown.join();
  CHECK(entered == 2);
}

TEST_CASE("2,000 short threads need few states") {
  WorldGate::initialize();
  // Those of earlier tests count: as many as twice them may be made before anybody looks for ended
  // threads.
  const std::size_t few = std::max<std::size_t>(64, 2 * states_made());
  REQUIRE(few < 1000);
  int without = 0;
  for (int i = 0; i < 2000; ++i) {
    on_new_thread([&] { without += RecordingScope().thread() == nullptr; });
  }
  CHECK(without == 0);
  CHECK(states_made() <= few);
}

TEST_CASE("a state that is taken over remembers nothing of the thread before") {
  WorldGate::initialize();
  std::set<const ThreadState*> used;
  int taken_over = 0;
  int stale = 0;
  for (int i = 0; i < 1000; ++i) {
    on_new_thread([&] {
      const RecordingScope section;
      ThreadState& state = *section.thread();
      if (!used.insert(&state).second) {
        ++taken_over;
        if (state.stack_bounds.high != 0) ++stale;
      }
      state.stack_bounds = {1, 2};
    });
  }
  CHECK(taken_over > 50);
  CHECK(stale == 0);
}

TEST_CASE("a thread without memory for a state records nothing, and does once there is memory") {
  WorldGate::initialize();
  // More threads than states that earlier ones have left.
  std::size_t states = 0;
  ThreadStates::for_each([&](ThreadState&) { ++states; });
  std::vector<std::thread> threads(states + 10);
  const int count = static_cast<int>(threads.size());
  std::atomic<int> phase{0};
  std::atomic<int> started{0};
  std::atomic<int> tried{0};
  std::atomic<int> without{0};
  std::atomic<int> without_later{0};
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      ++started;
      while (phase < 1) std::this_thread::yield();
      if (RecordingScope().thread() == nullptr) ++without;
      ++tried;
      while (phase < 2) std::this_thread::yield();
      if (RecordingScope().thread() == nullptr) ++without_later;
    });
  }
  while (started < count) std::this_thread::yield();
  {
    const alloctap::testing::StarvedArena starved;
    phase = 1;
    while (tried < count) std::this_thread::yield();
  }
  phase = 2;
  for (std::thread& thread : threads) thread.join();
  CHECK(without > 0);
  CHECK(without_later == 0);
}

TEST_CASE("closing the gate tells a caller that was stopped inside, and does not wait for it") {
  WorldGate::initialize();
  const RecordingScope section;
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(ThreadStates::stop_world());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(4));
  ThreadStates::resume_world();
}

TEST_CASE("a thread that abandons its section is not waited for, but remembered") {
  CHECK(alloctap::testing::holds_in_child([] {
    WorldGate::initialize();
    const bool whole_before = ThreadStates::stop_world();
    ThreadStates::resume_world();
    on_new_thread([] { ThreadStates::abandon_section(); });
    const bool whole_outside = ThreadStates::stop_world();
    ThreadStates::resume_world();
    on_new_thread([] {
      const RecordingScope section;
      ThreadStates::abandon_section();
    });
    return whole_before && whole_outside && !ThreadStates::stop_world();
  }));
}

TEST_CASE("a thread is inside the tracker exactly while it records") {
  WorldGate::initialize();
  CHECK_FALSE(inside_tracker());
  {
    const RecordingScope section;
    CHECK(inside_tracker());
    on_new_thread([] { CHECK_FALSE(inside_tracker()); });
  }
  CHECK_FALSE(inside_tracker());
}
