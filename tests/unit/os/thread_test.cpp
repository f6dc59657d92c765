#include "alloctap/os/thread.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace {

namespace os = alloctap::os;

/// The kernel lets a joined thread go a moment after the join returns.
bool dies_soon(os::ThreadId id) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (os::thread_is_alive(id)) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

/// The two sides of Dekker's pattern, of which only the heavy one may pay for the order of a store
/// and a load. Each word has a cache line of its own, so that a store takes its time.
struct Dekker {
  alignas(64) std::atomic<std::uint32_t> light{0};
  alignas(64) std::atomic<std::uint32_t> heavy{0};
  alignas(64) std::atomic<std::uint32_t> round{0};
  alignas(64) std::atomic<std::uint32_t> light_done{0};
  bool light_saw = false;

  static void wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
    for (int spins = 0; word.load(std::memory_order_acquire) != value; ++spins) {
      if (spins > 2000) std::this_thread::yield();
    }
  }

  void run_light(std::uint32_t rounds) {
    for (std::uint32_t i = 1; i <= rounds; ++i) {
      wait_for(round, i);
      light.store(i, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      light_saw = heavy.load(std::memory_order_relaxed) == i;
      light_done.store(i, std::memory_order_release);
    }
  }

  /// Whether one of the two saw the other, as at least one must.
  bool run_heavy(std::uint32_t i) {
    round.store(i, std::memory_order_release);
    for (volatile std::uint32_t delay = i % 100; delay > 0;) delay = delay - 1;
    heavy.store(i, std::memory_order_relaxed);
    os::process_wide_barrier();
    const bool heavy_saw = light.load(std::memory_order_relaxed) == i;
    wait_for(light_done, i);
    return heavy_saw || light_saw;
  }
};

}  // namespace

TEST_CASE("a thread that has ended is not alive") {
  os::ThreadId id = 0;
  std::thread([&] { id = os::current_thread_id(); }).join();
  CHECK(dies_soon(id));
}

TEST_CASE("a thread of another process is none of ours") {
  CHECK_FALSE(os::thread_is_alive(getppid()));
}

TEST_CASE("the process has the kernel's id, which is the main thread's") {
  CHECK(os::current_process_id() == getpid());
  CHECK(os::thread_is_alive(os::current_process_id()));
}

TEST_CASE("the process-wide barrier orders the other threads' stores and loads") {
  REQUIRE(os::enable_process_wide_barrier());
  constexpr std::uint32_t kRounds = 15'000;
  Dekker dekker;
  std::thread light([&] { dekker.run_light(kRounds); });
  std::uint32_t missed = 0;
  for (std::uint32_t i = 1; i <= kRounds; ++i) missed += dekker.run_heavy(i) ? 0 : 1;
  light.join();
  CHECK(missed == 0);
}
