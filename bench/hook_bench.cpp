// A pair of malloc and free: the C library's own, through the interposed functions before a session
// starts, and in a session with each way to capture the stack. Built with frame pointers
// (CMakeLists.txt), which FramePointerStack needs.
#include <benchmark/benchmark.h>

#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <cstdlib>
#include <optional>
#include <string>

#include "alloctap/status.hpp"
#include "bench/call_depth.hpp"
#include "bench/stack_policies.hpp"

namespace alloctap::bench {
namespace {

using AnyStack = StackPolicies::apply<SelectableStack>;

struct Config : DefaultConfig {
  using Hook = InterposeHook;
  using Stack = AnyStack;
};

}  // namespace
}  // namespace alloctap::bench

using BenchTracker = alloctap::Tracker<alloctap::bench::Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(BenchTracker);

extern "C" {
// glibc's own names for the functions behind.
void* __libc_malloc(std::size_t) noexcept;
void __libc_free(void*) noexcept;
}

namespace alloctap::bench {
namespace {

constexpr std::size_t kBlockBytes = 64;

template <class Pair>
void run_pairs(benchmark::State& state, Pair pair) {
  const auto measure = [&](std::uint32_t) {
    for (auto _ : state) pair();
  };
  AtDepth<decltype(measure)>::run(static_cast<std::uint32_t>(state.range(0)), measure);
  state.SetItemsProcessed(state.iterations());
}

void pair_of_c_library() {
  void* block = __libc_malloc(kBlockBytes);
  benchmark::DoNotOptimize(block);
  __libc_free(block);
}

void pair_of_program() {
  void* block = std::malloc(kBlockBytes);
  benchmark::DoNotOptimize(block);
  std::free(block);
}

void c_library(benchmark::State& state) { run_pairs(state, pair_of_c_library); }
BENCHMARK(c_library)->Arg(16);

void no_session(benchmark::State& state) { run_pairs(state, pair_of_program); }
BENCHMARK(no_session)->Arg(16);

std::optional<Result<Session>> session;

template <class Stack>
void start_session(const benchmark::State&) {
  session.emplace(BenchTracker::start());
  if (!session->ok() || !AnyStack::select(Stack::name)) std::abort();
}

void end_session(const benchmark::State&) { session.reset(); }

template <class Stack>
void in_session(benchmark::State& state) {
  run_pairs(state, pair_of_program);
}

template <class Stack>
void add_session() {
  const std::string name = "in_session/" + std::string(Stack::name);
  auto* added = benchmark::RegisterBenchmark(name.c_str(), &in_session<Stack>)
                    ->Setup(&start_session<Stack>)
                    ->Teardown(&end_session)
                    ->ThreadRange(1, 2);
  for (const int frames : {8, 16, 32, 64, 256}) added->Arg(frames);
}

const bool added = [] {
  StackPolicies::for_each([]<class Stack> { add_session<Stack>(); });
  return true;
}();

}  // namespace
}  // namespace alloctap::bench
