// Capturing a stack: by each policy, and by other unwinders. Built with frame pointers
// (CMakeLists.txt), which two of them need.
//
// WHAT/PATTERN/WHO/FRAMES, where WHAT is `frames` (write them all) or `identify` (as a tracker
// does for an allocation: know their hash), and PATTERN is `steady` (all captures of a loop come
// from one stack) or `varying` (the program returns and calls again between two captures, up to 16
// levels; FRAMES is the mean). The time of the calls themselves is in that of `none`.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/capture_patterns.hpp"
#include "bench/peer_stacks.hpp"
#include "bench/rule_walk.hpp"
#include "bench/stack_policies.hpp"

namespace alloctap::bench {
namespace {

/// The counter `frames` is the depth that was captured on average: others than our policies count
/// their own frame, and frame pointers miss the outermost one, which the C library has none for.
template <class What, class Pattern, class Stack>
void measure(benchmark::State& state) {
  const auto wanted = static_cast<std::uint32_t>(state.range(0));
  const std::uint64_t frames = capture_in<What, Pattern, Stack>(state, wanted);
  state.counters["frames"] =
      benchmark::Counter(static_cast<double>(frames), benchmark::Counter::kAvgIterations);
}

template <class What, class Pattern, class Stack>
void add_pattern() {
  const std::string name =
      std::string(What::name) + "/" + Pattern::name + "/" + std::string(Stack::name);
  auto* added = benchmark::RegisterBenchmark(name.c_str(), &measure<What, Pattern, Stack>);
  for (const int frames : {8, 16, 32, 64, 256}) added->Arg(frames);
}

template <class What, class Stack>
void add() {
  add_pattern<What, Steady, Stack>();
  add_pattern<What, Varying, Stack>();
}

const bool added = [] {
  StackPolicies::for_each([]<class Stack> { add<Identify, Stack>(); });
  StackPolicies::for_each([]<class Stack> { add<Frames, Stack>(); });
  add<Frames, RuleWalk>();
  add<Frames, BareFramePointerWalk>();
  add<Frames, BareUnwindBacktrace>();
  if (LibunwindBacktrace::load()) add<Frames, LibunwindBacktrace>();
  return true;
}();

}  // namespace
}  // namespace alloctap::bench
