#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "alloctap/runtime/futex_lock.hpp"

namespace {

using alloctap::SingleFlight;

constexpr std::int64_t kLongWait = 60'000'000'000;

constinit SingleFlight static_turn;

std::chrono::nanoseconds time_to_await(SingleFlight& turn, std::int64_t nanoseconds) {
  const auto start = std::chrono::steady_clock::now();
  turn.await_end(nanoseconds);
  return std::chrono::steady_clock::now() - start;
}

}  // namespace

TEST_CASE("a static turn is free without a constructor") {
  CHECK(static_turn.try_begin());
  static_turn.end();
}

TEST_CASE("a turn is one thread's until it ends") {
  SingleFlight turn;
  REQUIRE(turn.try_begin());
  CHECK_FALSE(turn.try_begin());
  turn.end();
  CHECK(turn.try_begin());
}

TEST_CASE("nobody waits where it is nobody's turn") {
  SingleFlight turn;
  CHECK(time_to_await(turn, kLongWait) < std::chrono::nanoseconds(kLongWait));
  CHECK(turn.try_begin());
}

TEST_CASE("who waits too long goes on, and the turn stays taken") {
  constexpr std::int64_t kShort = 20'000'000;
  SingleFlight turn;
  REQUIRE(turn.try_begin());
  CHECK(time_to_await(turn, kShort) >= std::chrono::nanoseconds(kShort));
  CHECK(time_to_await(turn, kShort) >= std::chrono::nanoseconds(kShort));
  CHECK_FALSE(turn.try_begin());
  turn.end();
  CHECK(turn.try_begin());
}

TEST_CASE("all who wait go on when the turn ends, and none before") {
  SingleFlight turn;
  std::atomic<int> gone_on{0};
  std::vector<std::thread> threads;
  REQUIRE(turn.try_begin());
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      turn.await_end(kLongWait);
      ++gone_on;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(gone_on == 0);
  turn.end();
  for (std::thread& thread : threads) thread.join();
  CHECK(gone_on == 4);
}

TEST_CASE("a child of a fork has the turn to itself") {
  SingleFlight turn;
  REQUIRE(turn.try_begin());
  turn.after_fork();
  CHECK(turn.try_begin());
}
