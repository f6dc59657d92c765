// What telling owners of stacks costs a pair of allocation and free, and what a tag_scope costs.
#include <benchmark/benchmark.h>

#include <alloctap/implement.hpp>
#include <cstdlib>

#include "bench/call_depth.hpp"

namespace alloctap::bench {
namespace {

template <class Policy>
struct Config : DefaultConfig {
  using Hook = ManualHook<Config>;
  using Tags = Policy;
};

constexpr std::size_t kBlockBytes = 64;

/// What the program tells of a block that is always the same, in a tag, below a stack.
template <class Policy>
void pair(benchmark::State& state) {
  using Tested = Tracker<Config<Policy>>;
  const auto session = Tested::start();
  if (!session.ok()) std::abort();
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
BENCHMARK(pair<NoTags>)->Arg(16);
BENCHMARK(pair<ScopedTags>)->Arg(16);
BENCHMARK(pair<ThreadOwners>)->Arg(16);
BENCHMARK(pair<TagsAndThreads>)->Arg(16);

/// Begins and ends a scope whose name is known.
void scope_by_name(benchmark::State& state) {
  for (auto _ : state) {
    const tag_scope scope{"Physics"};
    benchmark::DoNotOptimize(current_tag());
  }
}
BENCHMARK(scope_by_name);

void scope_by_value(benchmark::State& state) {
  const Tag tag = nested_tag("Physics");
  for (auto _ : state) {
    const tag_scope scope{tag};
    benchmark::DoNotOptimize(current_tag());
  }
}
BENCHMARK(scope_by_value);

}  // namespace
}  // namespace alloctap::bench
