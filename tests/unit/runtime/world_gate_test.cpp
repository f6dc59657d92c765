#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "alloctap/runtime/thread_state.hpp"
#include "tests/support/child_process.hpp"

namespace {

using alloctap::WorldGate;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A thread that records all the time: two numbers that are equal whenever it is outside.
struct BusyRecorder {
  WorldGate::Flag recording{0};
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::atomic<bool> stop{false};
  std::thread thread{[this] { run(); }};

  ~BusyRecorder() {
    stop = true;
    thread.join();
  }

  void run() {
    while (!stop.load(std::memory_order_relaxed)) {
      WorldGate::enter(recording);
      ++first;
      for (volatile int delay = 30; delay > 0;) delay = delay - 1;
      ++second;
      WorldGate::leave(recording);
    }
  }
};

}  // namespace

TEST_CASE("an open gate lets a thread in and out") {
  WorldGate::initialize();
  WorldGate::Flag recording{0};
  WorldGate::enter(recording);
  CHECK(recording == 1);
  WorldGate::leave(recording);
  CHECK(recording == 0);
}

TEST_CASE("no thread is half way through a record while the gate is closed") {
  WorldGate::initialize();
  BusyRecorder one;
  BusyRecorder two;
  int torn = 0;
  int moved = 0;
  for (int round = 0; round < 6000; ++round) {
    WorldGate::close();
    WorldGate::synchronize();
    const bool outside = WorldGate::wait_for(one.recording) && WorldGate::wait_for(two.recording);
    const std::uint64_t sum = one.first + two.first;
    if (!outside || one.first != one.second || two.first != two.second) ++torn;
    if (round % 100 == 0) std::this_thread::yield();
    if (one.first + two.first != sum) ++moved;
    WorldGate::open();
  }
  CHECK(torn == 0);
  CHECK(moved == 0);
}

TEST_CASE("a thread that had to wait is seen to record afterwards") {
  WorldGate::initialize();
  WorldGate::Flag recording{0};
  std::uint32_t flag_inside = 0;
  std::atomic<bool> closed{false};
  // Made while the gate is open: a tracker of the process would wait for it.
  std::thread thread([&] {
    while (!closed) std::this_thread::yield();
    WorldGate::enter(recording);
    flag_inside = recording;
    WorldGate::leave(recording);
  });
  WorldGate::close();
  WorldGate::synchronize();
  closed = true;
  std::this_thread::sleep_for(milliseconds(20));
  CHECK(WorldGate::wait_for(recording));
  WorldGate::open();
  thread.join();
  CHECK(flag_inside == 1);
}

TEST_CASE("a thread that never leaves is given up on") {
  WorldGate::initialize();
  WorldGate::Flag recording{0};
  WorldGate::enter(recording);
  WorldGate::close();
  WorldGate::synchronize();
  const auto start = steady_clock::now();
  CHECK_FALSE(WorldGate::wait_for(recording, 1'000'000));
  CHECK(steady_clock::now() - start < std::chrono::seconds(4));
  WorldGate::open();
  WorldGate::leave(recording);
}

TEST_CASE("a halted process keeps threads where they enter and where they leave") {
  CHECK(alloctap::testing::holds_in_child([] {
    WorldGate::initialize();
    // The threads stay.
    static WorldGate::Flag inside{0};
    static WorldGate::Flag outside{0};
    static std::atomic<int> entered{0};
    static std::atomic<int> passed{0};
    std::thread([] {
      WorldGate::enter(inside);
      ++entered;
      while (entered < 2) std::this_thread::yield();
      WorldGate::leave(inside);
      ++passed;
    }).detach();
    // Made while the gate is open: a tracker of the process would wait for it.
    std::thread([] {
      while (entered < 2) std::this_thread::yield();
      WorldGate::enter(outside);
      ++passed;
    }).detach();
    while (entered < 1) std::this_thread::yield();
    WorldGate::halt();
    ++entered;
    WorldGate::open();
    std::this_thread::sleep_for(milliseconds(100));
    return passed == 0 && inside == 0 && outside == 0;
  }));
}

TEST_CASE("a gate that is reset is open whatever it was") {
  WorldGate::initialize();
  WorldGate::close();
  WorldGate::synchronize();
  WorldGate::reset();
  WorldGate::Flag recording{0};
  WorldGate::enter(recording);
  WorldGate::leave(recording);
  CHECK(recording == 0);
}
