// PltHook: a pair of malloc and free through hooked slots, as hook_bench has it for interposition,
// and what it takes to hook a process of many modules, to look again, and to restore them.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <alloctap/hook/plt_hook.hpp>
#include <alloctap/implement.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "alloctap/status.hpp"
#include "bench/call_depth.hpp"
#include "tests/support/temporary_directory.hpp"

namespace alloctap::bench {
namespace {

using AnyStack = SelectableStack<UnwindTableStack, NoStack>;

struct Config : DefaultConfig {
  using Hook = PltHook;
  using Stack = AnyStack;
};
using BenchTracker = Tracker<Config>;

constexpr std::size_t kBlockBytes = 64;
constexpr int kDepth = 16;

void run_pairs(benchmark::State& state) {
  const auto measure = [&](std::uint32_t) {
    for (auto _ : state) {
      void* block = std::malloc(kBlockBytes);
      benchmark::DoNotOptimize(block);
      std::free(block);
    }
  };
  AtDepth<decltype(measure)>::run(static_cast<std::uint32_t>(state.range(0)), measure);
}

void no_hook(benchmark::State& state) { run_pairs(state); }
BENCHMARK(no_hook)->Arg(kDepth);

template <class Stack>
void in_session(benchmark::State& state) {
  const Result<Session> session = BenchTracker::start();
  if (!session.ok() || !AnyStack::select(Stack::name)) std::abort();
  run_pairs(state);
}
BENCHMARK(in_session<NoStack>)->Arg(kDepth);
BENCHMARK(in_session<UnwindTableStack>)->Arg(kDepth);

/// Opens copies of a module, until the benchmarks end.
void open_modules(std::int64_t count) {
  static testing::TemporaryDirectory directory;
  static std::int64_t opened = 0;
  for (; opened < count; ++opened) {
    const std::string path = directory.file("module_" + std::to_string(opened) + ".so");
    std::filesystem::copy_file(ALLOCTAP_SLOTS_MODULE, path);
    if (::dlopen(path.c_str(), RTLD_NOW) == nullptr) std::abort();
  }
}

void start_and_end(benchmark::State& state) {
  open_modules(state.range(0));
  for (auto _ : state) {
    const Result<Session> session = BenchTracker::start();
    if (!session.ok()) std::abort();
  }
}
BENCHMARK(start_and_end)->Arg(0)->Arg(200)->Unit(benchmark::kMillisecond);

void refresh(benchmark::State& state) {
  open_modules(state.range(0));
  const Result<Session> session = BenchTracker::start();
  if (!session.ok()) std::abort();
  for (auto _ : state) PltHook::refresh();
  state.counters["slots"] = static_cast<double>(PltHook::report().hooked_slots);
}
BENCHMARK(refresh)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace alloctap::bench
