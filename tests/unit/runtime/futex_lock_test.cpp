#include "alloctap/runtime/futex_lock.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "alloctap/runtime/thread_state.hpp"

namespace {

using alloctap::FutexLock;
using alloctap::inside_tracker;

constinit FutexLock static_lock;

}  // namespace

TEST_CASE("a static lock is free without a constructor") {
  CHECK(static_lock.try_lock());
  static_lock.unlock();
}

TEST_CASE("a held lock is not given out twice") {
  FutexLock lock;
  lock.lock();
  CHECK_FALSE(lock.try_lock());
  lock.unlock();
  CHECK(lock.try_lock());
  lock.unlock();
}

TEST_CASE("a lock that is held is waited for as long as was said, and got if it is freed before") {
  constexpr std::int64_t kShort = 20'000'000;
  constexpr std::int64_t kLong = 60'000'000'000;
  FutexLock lock;
  REQUIRE(lock.try_lock_for(0));
  const auto start = std::chrono::steady_clock::now();
  std::thread([&] {
    CHECK_FALSE(lock.try_lock_for(kShort));
    CHECK_FALSE(inside_tracker());
  }).join();
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::nanoseconds(kShort));
  std::thread waiting([&] {
    REQUIRE(lock.try_lock_for(kLong));
    CHECK(inside_tracker());
    lock.unlock();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  lock.unlock();
  waiting.join();
  CHECK(lock.try_lock());
  lock.unlock();
}

TEST_CASE("four threads that count under one lock count exactly") {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kRounds = 200'000;
  FutexLock lock;
  std::uint64_t count = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::lock_guard hold(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(count == kThreads * kRounds);
}

TEST_CASE("threads that sleep at a lock all get it") {
  FutexLock lock;
  std::atomic<int> through{0};
  std::vector<std::thread> threads;
  lock.lock();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const std::lock_guard hold(lock);
      ++through;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(through == 0);
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  CHECK(through == 4);
}

TEST_CASE("a thread is inside the tracker for as long as it holds a lock") {
  FutexLock first;
  FutexLock second;
  first.lock();
  CHECK(second.try_lock());
  CHECK_FALSE(second.try_lock());
  second.unlock();
  CHECK(inside_tracker());
  first.unlock();
  CHECK_FALSE(inside_tracker());
}
