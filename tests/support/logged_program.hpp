/// A made-up program that a tracker with an event log records.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "alloctap/queue/logging_queue.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace alloctap::testing {

/// Each `Test` has a tracker of its own.
template <class Test, class Log = LoggingQueue<>>
struct LoggedConfig : ScriptedConfig<Test> {
  using Queue = Log;
};

/// Does with blocks at made-up addresses what programs do, and what they should not: reallocates in
/// place, elsewhere and in vain, frees what it never got, has frees go unseen. Threads share the
/// blocks and free them for each other.
template <class Config>
class LoggedProgram {
 public:
  using Hook = typename Config::Hook;

  void run(std::size_t steps, std::uint64_t seed) {
    Random random(seed);
    for (std::size_t i = 0; i < steps; ++i) step(random);
  }

  void run_threads(std::size_t count, std::size_t steps) {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < count; ++t) {
      threads.emplace_back([this, t, steps] { run(steps, t); });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  using Random = std::mt19937_64;
  enum State : int { kFree, kLive, kBusy };

  static constexpr std::size_t kPlaces = 512;

  static void* block(std::size_t place) { return at(0x10'0000 + place * 32); }
  static std::size_t size_of(Random& random) { return random() % 5000; }

  void step(Random& random) {
    static constexpr std::array<std::array<std::uintptr_t, 2>, 4> kStacks{
        {{0x1011, 0x3031}, {0x2021, 0x3031}, {0x2029, 0x3031}, {0x4041, 0x3031}}};
    ScriptedStack::play(kStacks[random() % kStacks.size()]);
    const std::size_t place = random() % kPlaces;
    int state = places_[place].load();
    if (state == kBusy || !places_[place].compare_exchange_strong(state, kBusy)) return;
    if (state == kLive) {
      state = use(place, random);
    } else if (random() % 64 == 0) {
      Hook::on_free(block(place));
    } else {
      Hook::on_allocate(block(place), size_of(random));
      state = kLive;
      // The next one frees what its thread allocated last.
      if (random() % 3 == 0) state = use(place, random);
    }
    places_[place].store(state);
  }

  /// Of a live block; returns its new state.
  static State use(std::size_t place, Random& random) {
    switch (random() % 8) {
      case 0:
        Hook::on_allocate(block(place), size_of(random));
        return kLive;
      case 1: {
        const DetachedBlock detached = Hook::begin_reallocate(block(place));
        Hook::end_reallocate(detached, nullptr, 100);
        return kLive;
      }
      case 2: {
        const DetachedBlock detached = Hook::begin_reallocate(block(place));
        Hook::end_reallocate(detached, block(place), size_of(random));
        return kLive;
      }
      default:
        Hook::on_free(block(place));
        return kFree;
    }
  }

  std::array<std::atomic<int>, kPlaces> places_{};
};

}  // namespace alloctap::testing
