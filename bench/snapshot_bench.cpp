// How long a snapshot of 1e6 live blocks of 50,000 stacks takes, and how long another thread, which
// allocates without a rest, has to wait meanwhile. The blocks exist for the tracker alone. A wait
// is the longest time between two of its events during one snapshot; what the snapshot computes
// meanwhile is told apart, because other programs make a wait longer.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <alloctap/hook/manual_hook.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/message_text.hpp>
#include <alloctap/meta/flat_hash_index.hpp>
#include <alloctap/meta/meta_container.hpp>
#include <alloctap/meta/shadow_index.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "alloctap/status.hpp"
#include "bench/made_up_heap.hpp"
#include "tests/support/fakes.hpp"

namespace alloctap::bench {
namespace {

constexpr std::size_t kBlocks = 1'000'000;
constexpr std::size_t kStacks = 50'000;

template <class Index>
struct Config : DefaultConfig {
  using Hook = ManualHook<Config>;
  using Stack = testing::ScriptedStack;
  using Meta = MemoryMetaContainer<Index>;
};

/// Sixteen frames, of which the inner ones tell stacks apart.
void play_stack(std::size_t number) {
  static thread_local std::array<std::uintptr_t, 16> frames;
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = 0x400000 + i * 0x1000 + (number >> i);
  testing::ScriptedStack::play(frames);
}

template <class Hook>
void fill(int heap) {
  std::uint64_t random = 1;
  for (const Block& block : made_up_heap(start_of_heap(heap), kBlocks)) {
    random = random * 6364136223846793005 + 1442695040888963407;
    play_stack((random >> 33) % kStacks);
    Hook::on_allocate(block.address, block.size);
  }
}

/// Allocates and frees one block until it is destroyed.
template <class Hook>
class BusyThread {
 public:
  ~BusyThread() {
    done_ = true;
    thread_.join();
  }

  void forget() { longest_ns_ = 0; }
  /// Since `forget`, the wait that is under way included.
  [[nodiscard]] std::int64_t longest_wait_ns() const {
    for (const std::uint64_t before = pairs_; pairs_ < before + 2;) std::this_thread::yield();
    return longest_ns_;
  }

 private:
  static std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }

  void run() {
    play_stack(0);
    auto* const block = reinterpret_cast<void*>(start_of_heap(-1));
    for (std::int64_t last = now_ns(); !done_;) {
      Hook::on_allocate(block, 64);
      Hook::on_free(block);
      const std::int64_t now = now_ns();
      if (now - last > longest_ns_) longest_ns_ = now - last;
      ++pairs_;
      last = now;
    }
  }

  std::atomic<bool> done_{false};
  std::atomic<std::int64_t> longest_ns_{0};
  std::atomic<std::uint64_t> pairs_{0};
  std::thread thread_{[this] { run(); }};
};

std::int64_t cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// What a snapshot computes while the others wait, whoever else wants the processors.
template <class Sink>
double cpu_ms_behind_gate(bool blocks) {
  std::int64_t least = INT64_MAX;
  for (int i = 0; i < 20; ++i) {
    SnapshotBuilder builder(Sink::data(), {.blocks = blocks});
    static_cast<void>(ThreadStates::stop_world());
    const std::int64_t start = cpu_ns();
    builder.read();
    least = std::min(least, cpu_ns() - start);
    ThreadStates::resume_world();
    benchmark::DoNotOptimize(builder.finish().ok());
  }
  return static_cast<double>(least) / 1e6;
}

template <class Index, int kHeap>
void snapshot(benchmark::State& state) {
  using BenchTracker = Tracker<Config<Index>>;
  const Result<Session> session = BenchTracker::start();
  if (!session.ok()) return state.SkipWithError(to_string(session.status()).c_str());
  fill<typename BenchTracker::Hook>(kHeap);
  BusyThread<typename BenchTracker::Hook> busy;
  std::vector<std::int64_t> waits;
  for (auto _ : state) {
    busy.forget();
    const Result<Snapshot> taken = BenchTracker::snapshot({.blocks = state.range(0) == 1});
    waits.push_back(busy.longest_wait_ns());
    if (!taken.ok() || taken->totals.live_allocations < kBlocks) {
      return state.SkipWithError("the snapshot does not hold every block");
    }
  }
  state.counters["cpu_ms_behind_gate"] =
      cpu_ms_behind_gate<::alloctap::SinkOf<BenchTracker>>(state.range(0) == 1);
  std::sort(waits.begin(), waits.end());
  state.counters["least_wait_ms"] = static_cast<double>(waits.front()) / 1e6;
  state.counters["wait_ms"] = static_cast<double>(waits[waits.size() / 2]) / 1e6;
  state.counters["longest_wait_ms"] = static_cast<double>(waits.back()) / 1e6;
}

}  // namespace
}  // namespace alloctap::bench

BENCHMARK(alloctap::bench::snapshot<alloctap::ShadowIndex, 0>)
    ->Name("snapshot/shadow_index")
    ->ArgName("blocks")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(alloctap::bench::snapshot<alloctap::FlatHashIndex, 1>)
    ->Name("snapshot/flat_hash_index")
    ->ArgName("blocks")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);
