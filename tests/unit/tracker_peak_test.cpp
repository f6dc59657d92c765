#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

template <class Test>
struct PeakSampledConfig : ScriptedConfig<Test> {
  using Sampling = PoissonByBytes<80'000>;
};

constexpr std::size_t kStacks = 8;

std::span<const std::uintptr_t> frames_of(std::size_t stack) {
  static const auto frames = [] {
    std::array<std::array<std::uintptr_t, 1>, kStacks> all{};
    for (std::size_t i = 0; i < kStacks; ++i) all[i] = {0x1000 * (i + 1)};
    return all;
  }();
  return frames[stack];
}

/// Bytes by the only frame of each stack.
using Held = std::map<std::uintptr_t, std::uint64_t>;

Held held_at_peak(const Snapshot& snapshot) {
  Held held;
  for (const PeakStackSummary& stack : snapshot.peak.stacks) {
    held[snapshot.table->frames(stack.stack)[0]] += stack.live_bytes;
  }
  return held;
}

/// A program whose every block is known.
template <class Tracker>
class Program {
 public:
  void allocate(std::size_t stack, std::uint64_t bytes) {
    ScriptedStack::play(frames_of(stack));
    const std::uintptr_t address = next_;
    next_ += (bytes + 0xFFF) & ~std::uintptr_t{0xFFF};
    Tracker::Hook::on_allocate(reinterpret_cast<void*>(address), bytes);
    blocks_.push_back({address, bytes, stack});
    held_[frames_of(stack)[0]] += bytes;
    live_ += bytes;
    if (live_ <= highest_) return;
    highest_ = live_;
    held_at_peak_ = held_;
  }

  void free(std::size_t index) {
    const Block block = blocks_[index];
    blocks_[index] = blocks_.back();
    blocks_.pop_back();
    Tracker::Hook::on_free(reinterpret_cast<void*>(block.address));
    held_[frames_of(block.stack)[0]] -= block.bytes;
    live_ -= block.bytes;
  }

  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }
  [[nodiscard]] std::uint64_t live() const { return live_; }
  [[nodiscard]] std::uint64_t highest() const { return highest_; }

  /// The sum over all stacks of what the snapshot says wrongly, of the peak.
  [[nodiscard]] double error(const Snapshot& snapshot) const {
    Held told = held_at_peak(snapshot);
    double wrong = 0;
    for (const auto& [frame, bytes] : held_at_peak_) {
      wrong += std::abs(static_cast<double>(bytes) - static_cast<double>(told[frame]));
    }
    return wrong / static_cast<double>(highest_);
  }

 private:
  struct Block {
    std::uintptr_t address;
    std::uint64_t bytes;
    std::size_t stack;
  };

  std::uintptr_t next_ = 0x100000000;
  std::vector<Block> blocks_;
  std::uint64_t live_ = 0;
  std::uint64_t highest_ = 0;
  Held held_;
  Held held_at_peak_;
};

struct NowTest;
struct OneBlockTest;
struct WaveTest;
struct PeakThreadsTest;
struct ReallocTest;
struct QueueTest;
struct PeakSampledTest;
struct PeakDumpTest;
struct PeakMemoryTest;
struct PeakStoppedTest;

}  // namespace

TEST_CASE("while nothing falls, the peak is now") {
  using T = Tracker<ScriptedConfig<NowTest>>;
  const Session session = started<T>();
  Program<T> program;
  for (int i = 0; i < 100; ++i) program.allocate(1, 100'000);
  program.allocate(2, 1);
  const Snapshot snapshot = snapshot_of<T>();
  CHECK(snapshot.peak.live_bytes == 10'000'001);
  CHECK(held_at_peak(snapshot) == Held{{0x2000, 10'000'000}, {0x3000, 1}});
  CHECK(snapshot.peak.time_ns == snapshot.time_ns);
}

TEST_CASE("the block whose free ends the peak was part of it") {
  using T = Tracker<ScriptedConfig<OneBlockTest>>;
  const Session session = started<T>();
  Program<T> program;
  program.allocate(1, 50'000'000);
  program.allocate(2, 10'000'000);
  program.free(0);
  program.allocate(3, 30'000'000);
  const Snapshot snapshot = snapshot_of<T>();
  CHECK(snapshot.peak.live_bytes == 60'000'000);
  CHECK(held_at_peak(snapshot) == Held{{0x2000, 50'000'000}, {0x3000, 10'000'000}});
  CHECK(snapshot.peak.stacks[0].live_allocations == 1);
  CHECK(snapshot.peak.time_ns > 0);
  CHECK(snapshot.peak.time_ns <= snapshot.time_ns);
}

TEST_CASE("who held the memory at the peak is known within 1 %, however it came and went") {
  using T = Tracker<ScriptedConfig<WaveTest>>;
  const Session session = started<T>();
  Program<T> program;
  std::mt19937_64 random(7);
  // Each wave changes who holds the memory. The third is the highest.
  for (const std::uint64_t height : {20'000'000U, 50'000'000U, 80'000'000U, 70'000'000U}) {
    while (program.live() < height) {
      program.allocate(random() % kStacks, 1 + random() % 20'000);
      if (random() % 3 == 0) program.free(random() % program.blocks());
    }
    while (program.live() > 10'000'000) program.free(random() % program.blocks());
    const Snapshot snapshot = snapshot_of<T>();
    CHECK(snapshot.peak.live_bytes > program.highest() * 99 / 100);
    CHECK(program.error(snapshot) < 0.01);
  }
}

TEST_CASE("a block that a reallocation takes away was part of the peak") {
  using T = Tracker<ScriptedConfig<ReallocTest>>;
  const Session session = started<T>();
  ScriptedStack::play(frames_of(1));
  auto* block = reinterpret_cast<void*>(0x100000000);
  T::Hook::on_allocate(block, 40'000'000);
  const DetachedBlock detached = T::Hook::begin_reallocate(block);
  T::Hook::end_reallocate(detached, block, 1'000);
  const Snapshot snapshot = snapshot_of<T>();
  CHECK(snapshot.peak.live_bytes == 40'000'000);
  CHECK(held_at_peak(snapshot) == Held{{0x2000, 40'000'000}});
}

TEST_CASE("threads that reach a peak together are in one picture, within 1 %") {
  using T = Tracker<ScriptedConfig<PeakThreadsTest>>;
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kBlocks = 10'000;
  constexpr std::uint64_t kBytes = 4'000;
  const Session session = started<T>();
  std::atomic<std::size_t> full{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ScriptedStack::play(frames_of(t));
      const std::uintptr_t first = 0x100000000 * (t + 1);
      for (std::size_t i = 0; i < kBlocks; ++i) {
        T::Hook::on_allocate(reinterpret_cast<void*>(first + i * 4096), kBytes);
      }
      ++full;
      while (full < kThreads) std::this_thread::yield();
      for (std::size_t i = 0; i < kBlocks; ++i) {
        T::Hook::on_free(reinterpret_cast<void*>(first + i * 4096));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Snapshot snapshot = snapshot_of<T>();
  const Held held = held_at_peak(snapshot);
  REQUIRE(held.size() == kThreads);
  const auto whole = static_cast<double>(kThreads * kBlocks * kBytes);
  CHECK(static_cast<double>(snapshot.peak.live_bytes) > whole * 0.99);
  CHECK(snapshot.totals.live_bytes == 0);
}

TEST_CASE("a peak that ends while another thread dumps keeps nobody waiting, and has no picture") {
  using T = Tracker<ScriptedConfig<PeakDumpTest>>;
  const Session session = started<T>();
  bool told = false;
  CallbackOutput output([&](std::string_view) {
    if (std::exchange(told, true)) return alloctap::Status();
    std::thread([] {
      Program<T> program;
      program.allocate(1, 50'000'000);
      program.allocate(2, 10'000'000);
      T::add_timeline_point();
      program.free(0);
    }).join();
    return alloctap::Status();
  });
  CHECK(T::dump(TextDump{}, output).ok());
  REQUIRE(told);
  const Snapshot snapshot = snapshot_of<T>();
  CHECK(held_at_peak(snapshot) == Held{{0x3000, 10'000'000}});
  CHECK(snapshot.timeline.size() == 2);
}

TEST_CASE("where not all frees could be counted there is no picture") {
  using T = Tracker<ScriptedConfig<PeakMemoryTest>>;
  const Session session = started<T>();
  Program<T> program;
  program.allocate(1, 1'000);
  {
    const StarvedArena starved;
    program.free(0);
  }
  program.allocate(1, 50'000'000);
  program.allocate(2, 10'000'000);
  program.free(0);
  CHECK(held_at_peak(snapshot_of<T>()) == Held{{0x3000, 10'000'000}});
}

TEST_CASE(
    "a thread that was stopped inside the tracker keeps others waiting once, not at each peak") {
  using T = Tracker<ScriptedConfig<PeakStoppedTest>>;
  using std::chrono::steady_clock;
  const Session session = started<T>();
  std::atomic<bool> is_stopped{false};
  std::atomic<bool> may_go_on{false};
  std::thread stopped([&] {
    WorldGate::enter(ThreadStates::mine()->recording);
    is_stopped = true;
    while (!may_go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    WorldGate::leave(ThreadStates::mine()->recording);
  });
  while (!is_stopped) std::this_thread::yield();
  Program<T> program;
  const auto start = steady_clock::now();
  for (std::uint64_t peak = 1; peak <= 200; ++peak) {
    program.allocate(1, peak * 50'000'000);
    program.free(0);
  }
  // 50 ms for each of them would be 10 s.
  CHECK(steady_clock::now() - start < std::chrono::seconds(5));
  may_go_on = true;
  stopped.join();
}

TEST_CASE("while a policy samples, the picture is an estimate by weights") {
  using T = Tracker<PeakSampledConfig<PeakSampledTest>>;
  const Session session = started<T>();
  Program<T> program;
  for (int i = 0; i < 20'000; ++i) program.allocate(1, 5'000);
  for (int i = 0; i < 4'000; ++i) program.allocate(2, 5'000);
  while (program.blocks() > 10) program.free(program.blocks() - 1);
  const Snapshot snapshot = snapshot_of<T>();
  Held held = held_at_peak(snapshot);
  // 1,200 and 240 samples: standard deviations of 3 % and 6 %.
  CHECK(static_cast<double>(held[0x2000]) == doctest::Approx(100e6).epsilon(0.2));
  CHECK(static_cast<double>(held[0x3000]) == doctest::Approx(20e6).epsilon(0.4));
}

TEST_CASE("a queue that delivers later keeps no picture, and the report survives it") {
  using T = Tracker<BufferedScriptedConfig<QueueTest>>;
  const Session session = started<T>();
  Program<T> program;
  program.allocate(1, 50'000'000);
  program.allocate(2, 10'000'000);
  program.free(0);
  const Snapshot snapshot = snapshot_of<T>();
  CHECK(held_at_peak(snapshot) == Held{{0x3000, 10'000'000}});
}
