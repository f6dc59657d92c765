#include "alloctap/os/futex.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>

namespace {

namespace os = alloctap::os;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kTooLong = 20'000 * kMillisecond;

milliseconds time_waited(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::int64_t timeout_ns) {
  const auto start = steady_clock::now();
  os::futex_wait(word, expected, timeout_ns);
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
}

/// Threads that sleep on one word, and how many of them were woken.
struct Sleepers {
  std::atomic<std::uint32_t> word{0};
  std::atomic<int> asleep{0};
  std::atomic<int> woken{0};
  std::array<std::thread, 3> threads;

  Sleepers() {
    for (std::thread& thread : threads) {
      thread = std::thread([this] {
        ++asleep;
        const auto waited = time_waited(word, 0, kTooLong);
        if (waited < milliseconds(10'000)) ++woken;
      });
    }
    while (asleep < 3) std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds(50));
  }

  void join() {
    for (std::thread& thread : threads) thread.join();
  }
};

bool reaches(const std::atomic<int>& number, int wanted) {
  for (int i = 0; i < 1000 && number < wanted; ++i) std::this_thread::sleep_for(milliseconds(10));
  return number >= wanted;
}

}  // namespace

TEST_CASE("a wait ends when its time is up") {
  const std::atomic<std::uint32_t> word{7};
  const milliseconds waited = time_waited(word, 7, 30 * kMillisecond);
  CHECK(waited >= milliseconds(25));
  CHECK(waited < milliseconds(10'000));
}

TEST_CASE("a wait for more than a second counts its seconds") {
  const std::atomic<std::uint32_t> word{7};
  CHECK(time_waited(word, 7, 1'100 * kMillisecond) >= milliseconds(1'050));
}

TEST_CASE("a word that has changed is not waited for") {
  const std::atomic<std::uint32_t> word{7};
  CHECK(time_waited(word, 8, kTooLong) < milliseconds(10'000));
}

TEST_CASE("a wait that is refused or has no time left does not change errno") {
  const std::atomic<std::uint32_t> word{7};
  errno = EXDEV;
  os::futex_wait(word, 8, kTooLong);
  os::futex_wait(word, 7, kMillisecond);
  CHECK(errno == EXDEV);
}

TEST_CASE("waking one wakes one, waking all wakes the rest") {
  // A wait may also end for no reason, which is seldom.
  bool one_alone = false;
  for (int i = 0; i < 5 && !one_alone; ++i) {
    Sleepers sleepers;
    os::futex_wake_one(sleepers.word);
    CHECK(reaches(sleepers.woken, 1));
    std::this_thread::sleep_for(milliseconds(100));
    one_alone = sleepers.woken == 1;
    // One that came too late to be woken does not sleep.
    sleepers.word = 1;
    os::futex_wake_all(sleepers.word);
    sleepers.join();
    CHECK(sleepers.woken == 3);
  }
  CHECK(one_alone);
}
