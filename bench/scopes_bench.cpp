// What it costs to forbid or count allocations for a while, where there are none.
#include <benchmark/benchmark.h>

#include <alloctap/game/allocation_scopes.hpp>
#include <alloctap/implement.hpp>
#include <cstdlib>

#include "bench/call_depth.hpp"

namespace alloctap::bench {
namespace {

struct ScopesConfig : DefaultConfig {
  using Hook = ManualHook<ScopesConfig>;
  using Observers = AllocationScopes;
};
struct PlainConfig : DefaultConfig {
  using Hook = ManualHook<PlainConfig>;
};

constexpr std::size_t kBlockBytes = 64;

/// Something that a scope is put around.
void nothing(benchmark::State& state) {
  for (auto _ : state) benchmark::ClobberMemory();
}
BENCHMARK(nothing);

void no_allocation(benchmark::State& state) {
  const auto session = Tracker<ScopesConfig>::start();
  if (!session.ok()) std::abort();
  for (auto _ : state) {
    const no_allocation_scope scope{"bench"};
    benchmark::ClobberMemory();
  }
}
BENCHMARK(no_allocation);

/// A pair of allocation and free below a stack, in a scope that counts it where `Config` has any.
template <class Config>
void pair(benchmark::State& state) {
  const auto session = Tracker<Config>::start();
  if (!session.ok()) std::abort();
  alignas(16) char block[kBlockBytes];
  const auto measure = [&](std::uint32_t) {
    const AllocationScope scope;
    for (auto _ : state) {
      Config::Hook::on_allocate(block, kBlockBytes);
      Config::Hook::on_free(block);
    }
  };
  AtDepth<decltype(measure)>::run(static_cast<std::uint32_t>(state.range(0)), measure);
}
BENCHMARK(pair<PlainConfig>)->Arg(16);
BENCHMARK(pair<ScopesConfig>)->Arg(16);

}  // namespace
}  // namespace alloctap::bench
