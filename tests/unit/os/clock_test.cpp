#include "alloctap/os/clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace os = alloctap::os;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST_CASE("monotonic time advances by the nanoseconds that pass") {
  const std::int64_t start = os::monotonic_ns();
  std::this_thread::sleep_for(milliseconds(20));
  const nanoseconds passed(os::monotonic_ns() - start);
  CHECK(passed >= milliseconds(19));
  CHECK(passed < std::chrono::seconds(10));
}

TEST_CASE("coarse time follows monotonic time in steps of some milliseconds") {
  // A virtual machine that was stopped for a while is late once.
  nanoseconds least_lag = std::chrono::seconds(1);
  for (int i = 0; i < 5; ++i) {
    const nanoseconds before(os::monotonic_ns());
    const nanoseconds coarse(os::coarse_monotonic_ns());
    const nanoseconds after(os::monotonic_ns());
    CHECK(coarse <= after);
    least_lag = std::min(least_lag, before - coarse);
    std::this_thread::sleep_for(milliseconds(5));
  }
  CHECK(least_lag < milliseconds(20));
}

TEST_CASE("a thread's time of a processor advances while it computes, and not while it sleeps") {
  const std::int64_t start = os::thread_cpu_ns();
  std::this_thread::sleep_for(milliseconds(200));
  CHECK(nanoseconds(os::thread_cpu_ns() - start) < milliseconds(100));
  const std::int64_t awake = os::thread_cpu_ns();
  while (os::thread_cpu_ns() - awake < nanoseconds(milliseconds(5)).count()) {
  }
  CHECK(os::thread_cpu_ns() > awake);
}

TEST_CASE("wall clock time counts from the epoch") {
  const nanoseconds before = std::chrono::system_clock::now().time_since_epoch();
  const nanoseconds now(os::wall_clock_ns());
  CHECK(now >= before - milliseconds(10));
  CHECK(now < before + std::chrono::seconds(10));
}
