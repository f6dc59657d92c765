#include "alloctap/record/live_bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

using alloctap::LiveBytes;

/// Live bytes as told, with the true peak beside. Threads are played one after the other, so that
/// the truth is known.
class Played {
 public:
  std::size_t join() {
    shares_.emplace_back();
    live_.join(shares_.back());
    held_.push_back(0);
    return shares_.size() - 1;
  }
  void add(std::size_t thread, std::uint64_t bytes) {
    live_.add(shares_[thread], bytes);
    held_[thread] += bytes;
    truth_ += bytes;
    highest_ = std::max(highest_, truth_);
  }
  /// Whether that ended a peak.
  bool remove(std::size_t thread, std::uint64_t bytes) {
    const bool fell = live_.remove(shares_[thread], bytes);
    held_[thread] -= bytes;
    truth_ -= bytes;
    return fell;
  }
  void note_peak_snapshot() { live_.note_peak_snapshot(); }
  [[nodiscard]] std::uint64_t live() const { return live_.live(); }
  [[nodiscard]] std::uint64_t held(std::size_t thread) const { return held_[thread]; }
  [[nodiscard]] std::size_t threads() const { return shares_.size(); }
  [[nodiscard]] std::uint64_t peak() const { return live_.peak(); }
  [[nodiscard]] std::uint64_t true_peak() const { return highest_; }
  /// How far off the peak is, of the truth.
  [[nodiscard]] double error() const {
    const auto truth = static_cast<double>(highest_);
    return std::abs(static_cast<double>(peak()) - truth) / truth;
  }

 private:
  LiveBytes live_;
  std::deque<LiveBytes::Share> shares_;
  std::vector<std::uint64_t> held_;
  std::uint64_t truth_ = 0;
  std::uint64_t highest_ = 0;
};

constexpr double kBound = 1.0 / 512;

/// Up and down at random, with blocks of up to `largest` bytes, around `per_thread` bytes each.
void live_on(Played& played, std::mt19937_64& random, int events, std::uint64_t per_thread,
             std::uint64_t largest) {
  for (int i = 0; i < events; ++i) {
    const std::size_t thread = random() % played.threads();
    const std::uint64_t bytes = 1 + random() % largest;
    if (played.held(thread) < bytes || random() % (2 * per_thread) > played.held(thread)) {
      played.add(thread, bytes);
    } else {
      played.remove(thread, bytes);
    }
  }
}

}  // namespace

TEST_CASE("without threads nothing was ever live") { CHECK(LiveBytes().peak() == 0); }

TEST_CASE("the peak of one thread is exact") {
  Played played;
  played.join();
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    live_on(played, random, 20, 100'000, 1 << (round % 20));
    CHECK(played.peak() == played.true_peak());
  }
  played.remove(0, played.held(0));
  CHECK(played.peak() == played.true_peak());
}

TEST_CASE("what one thread reached alone is the peak still when others come") {
  Played played;
  played.join();
  played.add(0, 1'000'000'000);
  played.remove(0, 999'000'000);
  const std::size_t second = played.join();
  CHECK(played.peak() == 1'000'000'000);
  played.add(second, 500'000'000);
  played.add(0, 1);
  played.remove(0, 1);
  CHECK(played.peak() == 1'000'000'000);
}

TEST_CASE("the peak of any number of threads is found within 1/128") {
  for (const std::size_t threads : {2U, 3U, 7U, 16U, 100U}) {
    CAPTURE(threads);
    Played played;
    for (std::size_t i = 0; i < threads; ++i) played.join();
    std::mt19937_64 random(threads);
    // At least what makes 4 KiB a step.
    live_on(played, random, 200'000, 4 << 20, 10'000);
    CHECK(played.error() < kBound);
    for (std::size_t i = 0; i < threads; ++i) played.remove(i, played.held(i));
    CHECK(played.error() < kBound);
  }
}

TEST_CASE("the end of a peak is told before the live bytes are 1/128 below it") {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    CAPTURE(threads);
    Played played;
    for (std::size_t i = 0; i < threads; ++i) played.join();
    for (std::size_t i = 0; i < 100 * threads; ++i) played.add(i % threads, 1'000'000);
    const std::uint64_t peak = played.true_peak();
    std::size_t i = 0;
    while (!played.remove(i % threads, 1'000)) REQUIRE(++i * 1'000 < peak);
    CHECK(peak - played.live() < peak / 128);
    CHECK(played.live() == peak - (i + 1) * 1'000);
  }
}

TEST_CASE("one block that is most of a peak ends it") {
  Played played;
  const std::size_t thread = played.join();
  played.add(thread, 90'000'000);
  played.add(thread, 1);
  CHECK(played.remove(thread, 90'000'000));
}

TEST_CASE("the end of a peak is told until there is a picture, and again when a higher one ends") {
  Played played;
  const std::size_t thread = played.join();
  played.add(thread, 100'000'000);
  CHECK(played.remove(thread, 10'000'000));
  CHECK(played.remove(thread, 10'000'000));
  played.note_peak_snapshot();
  CHECK_FALSE(played.remove(thread, 10'000'000));
  played.add(thread, 30'200'000);
  CHECK_FALSE(played.remove(thread, 10'000'000));
  played.add(thread, 10'300'000);
  CHECK(played.remove(thread, 10'000'000));
}

TEST_CASE("a small heap's ups and downs end no peak") {
  Played played;
  const std::size_t thread = played.join();
  for (int i = 0; i < 100; ++i) {
    played.add(thread, 2'000);
    CHECK_FALSE(played.remove(thread, 2'000));
  }
}

TEST_CASE("threads that come one by one, keep back what they may and rest, hide no peak") {
  Played played;
  played.add(played.join(), std::uint64_t{1} << 33);
  played.join();
  played.add(1, 1);
  // Each is just below the step of its time; together they would hide much more than 1/512.
  while (played.threads() < 2000) {
    const std::size_t thread = played.join();
    const std::uint64_t step = played.true_peak() / (1100 * played.threads());
    played.add(thread, step);
  }
  const std::uint64_t peak = played.true_peak();
  for (std::size_t i = 0; i < 500; ++i) played.remove(i, played.held(i));
  CHECK(played.true_peak() == peak);
  CHECK(played.error() < kBound);
}

TEST_CASE("threads that run at once find their peak, and end at nothing") {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kBlock = 1000;
  constexpr std::uint64_t kBlocks = 20'000;
  LiveBytes live;
  std::deque<LiveBytes::Share> shares(kThreads);
  std::atomic<std::uint64_t> full{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      live.join(shares[t]);
      for (int round = 0; round < 3; ++round) {
        for (std::uint64_t i = 0; i < kBlocks; ++i) live.add(shares[t], kBlock);
        // All are full at one moment in the first round, and never fuller.
        ++full;
        while (full < kThreads) std::this_thread::yield();
        for (std::uint64_t i = 0; i < kBlocks; ++i) live.remove(shares[t], kBlock);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto truth = static_cast<double>(kThreads * kBlock * kBlocks);
  CHECK(static_cast<double>(live.peak()) > truth * (1 - kBound));
  CHECK(static_cast<double>(live.peak()) < truth * (1 + kBound));
  std::int64_t rest = 0;
  for (const LiveBytes::Share& share : shares) rest += share.total;
  CHECK(rest == 0);
}
