// Capturing a stack of 4, 16 and 64 frames. Built with frame pointers (CMakeLists.txt), which
// FramePointerStack needs.
#include <benchmark/benchmark.h>

#include <alloctap/stack/backtrace_stack.hpp>
#include <alloctap/stack/frame_pointer_stack.hpp>
#include <alloctap/stack/no_stack.hpp>

#include "bench/call_depth.hpp"

namespace alloctap::bench {
namespace {

/// Stands for the hooked function.
template <class Stack>
ALLOCTAP_NOINLINE CapturedStack capture(ThreadState& thread) {
  const CapturedStack stack = Stack::capture(thread, ALLOCTAP_CALL_ORIGIN(), thread.frames);
  benchmark::ClobberMemory();
  return stack;
}

/// `frames` is the depth that was captured: one less for FramePointerStack, which misses the
/// outermost frame of a thread because the C library has no frame pointers.
template <class Stack>
void capture_stack(benchmark::State& state) {
  const auto depth = static_cast<std::uint32_t>(state.range(0));
  const auto measure = [&state](std::uint32_t) {
    ThreadState& thread = *ThreadStates::mine();
    CapturedStack stack;
    for (auto _ : state) benchmark::DoNotOptimize(stack = capture<Stack>(thread));
    state.counters["frames"] = stack.depth;
  };
  AtDepth<decltype(measure)>::run(depth, measure);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(capture_stack<NoStack>)->Arg(4)->Arg(16)->Arg(64);
BENCHMARK(capture_stack<FramePointerStack>)->Arg(4)->Arg(16)->Arg(64);
BENCHMARK(capture_stack<BacktraceStack>)->Arg(4)->Arg(16)->Arg(64);

}  // namespace
}  // namespace alloctap::bench
