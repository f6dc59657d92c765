// What counting by frame costs a pair of malloc and free, and what a mark costs.
#include <benchmark/benchmark.h>

#include <alloctap/game/budgets.hpp>
#include <alloctap/implement.hpp>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/call_depth.hpp"

namespace alloctap::bench {
namespace {

template <class Told, class Policy>
struct FramesConfig : DefaultConfig {
  using Hook = ManualHook<FramesConfig>;
  using Tags = Policy;
  using Observers = Told;
};

constexpr std::size_t kBlockBytes = 64;

struct Counted;
struct Limited;
struct Marked;

/// Asks for what `Frames` are told, and does nothing.
struct Owners {
  static constexpr alloctap::ObserverFeatures features{.wants_owners = true};
  static void on_track(const ObservedBlock&) noexcept {}
  static void on_untrack(const ObservedBlock&) noexcept {}
};

template <class Told>
void limit() {}
template <>
void limit<GameFramesOf<Limited>>() {
  static_cast<void>(GameFramesOf<Limited>::set_budget(nested_tag("Bench"), {}));
}

/// What the program tells of a block that is always the same, in a tag, below a stack.
template <class Told, class Policy>
void pair(benchmark::State& state) {
  using Tested = Tracker<FramesConfig<Told, Policy>>;
  const auto session = Tested::start();
  if (!session.ok()) std::abort();
  limit<Told>();
  alignas(16) char block[kBlockBytes];
  const auto measure = [&](std::uint32_t) {
    const tag_scope scope{"Bench"};
    for (auto _ : state) {
      Tested::Hook::on_allocate(block, kBlockBytes);
      Tested::Hook::on_free(block);
    }
  };
  AtDepth<decltype(measure)>::run(static_cast<std::uint32_t>(state.range(0)), measure);
}
BENCHMARK(pair<NoObservers, ScopedTags>)->Arg(16);
BENCHMARK(pair<Owners, ScopedTags>)->Arg(16);
BENCHMARK(pair<GameFramesOf<Counted>, NoTags>)->Arg(16);
BENCHMARK(pair<GameFramesOf<Counted>, ScopedTags>)->Arg(16);
BENCHMARK(pair<GameFramesOf<Limited>, ScopedTags>)->Arg(16);

/// A mark behind what so many threads did in so many tags.
void mark(benchmark::State& state) {
  using Tested = Tracker<FramesConfig<GameFramesOf<Marked>, ScopedTags>>;
  const auto session = Tested::start();
  if (!session.ok()) std::abort();
  std::atomic<int> round{0};
  std::atomic<int> working{0};
  const auto work = [] {
    alignas(16) thread_local char block[kBlockBytes];
    for (int tag = 0; tag < 8; ++tag) {
      const tag_scope scope{std::string(1, static_cast<char>('a' + tag))};
      Tested::Hook::on_allocate(block, kBlockBytes);
      Tested::Hook::on_free(block);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < state.range(0); ++i) {
    threads.emplace_back([&] {
      for (int done = 0; done >= 0;) {
        round.wait(done);
        done = round;
        if (done >= 0) work();
        if (working.fetch_sub(1) == 1) working.notify_one();
      }
    });
  }
  GameFramesOf<Marked>::mark();
  for (auto _ : state) {
    working = static_cast<int>(threads.size());
    ++round;
    round.notify_all();
    work();
    for (int left = working; left > 0; left = working) working.wait(left);
    const std::int64_t begin = os::monotonic_ns();
    GameFramesOf<Marked>::mark();
    const std::int64_t end = os::monotonic_ns();
    state.SetIterationTime(static_cast<double>(end - begin) * 1e-9);
  }
  state.counters["clock_ns"] = static_cast<double>(clock_cost_ns());
  working = static_cast<int>(threads.size());
  round = -1;
  round.notify_all();
  for (std::thread& thread : threads) thread.join();
}
BENCHMARK(mark)->Arg(1)->Arg(4)->UseManualTime()->Iterations(100'000);

/// Marks with nothing between them.
void mark_at_once(benchmark::State& state) {
  for (auto _ : state) GameFramesOf<Marked>::mark();
}
BENCHMARK(mark_at_once);

}  // namespace
}  // namespace alloctap::bench
