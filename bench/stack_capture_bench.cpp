// Capturing a stack: by each policy, and by other unwinders. Built with frame pointers
// (CMakeLists.txt), which two of them need.
//
// WHAT/PATTERN/WHO/FRAMES, where WHAT is `frames` (write them all) or `identify` (as a tracker
// does for an allocation: know their hash), and PATTERN is `steady` (all captures of a loop come
// from one stack) or `varying` (the program returns and calls again between two captures, up to 16
// levels; FRAMES is the mean). The time of the calls themselves is in that of `none`.
#include <benchmark/benchmark.h>

#include <alloctap/stack/identified_stack.hpp>
#include <string>

#include "bench/call_depth.hpp"
#include "bench/call_paths.hpp"
#include "bench/peer_stacks.hpp"
#include "bench/stack_policies.hpp"

namespace alloctap::bench {
namespace {

constexpr std::uint32_t kMostFrames = 512;

/// Each stands for the hooked function.
struct Frames {
  static constexpr const char* name = "frames";

  template <class Stack>
  ALLOCTAP_NOINLINE static std::uint32_t capture(ThreadState& thread) {
    const std::span<std::uintptr_t> room(thread.frames, kMostFrames);
    const CapturedStack stack = Stack::capture(thread, ALLOCTAP_CALL_ORIGIN(), room);
    benchmark::ClobberMemory();
    return stack.depth;
  }
};

struct Identify {
  static constexpr const char* name = "identify";

  template <class Stack>
  ALLOCTAP_NOINLINE static std::uint32_t capture(ThreadState& thread) {
    IdentifiedStack identified = identify_stack<Stack>(thread, ALLOCTAP_CALL_ORIGIN(), kMostFrames);
    benchmark::DoNotOptimize(identified);
    return identified.stack.depth;
  }
};

struct Steady {
  static constexpr const char* name = "steady";

  static std::uint32_t depth(std::uint32_t wanted) { return wanted; }

  template <class Work>
  static void run(benchmark::State& state, std::uint32_t, Work work) {
    for (auto _ : state) work();
  }
};

struct Varying {
  static constexpr const char* name = "varying";

  static std::uint32_t depth(std::uint32_t wanted) { return CallPaths(wanted).base_depth(); }

  template <class Work>
  static void run(benchmark::State& state, std::uint32_t wanted, Work work) {
    CallPaths paths(wanted);
    for (auto _ : state) follow<0>(paths.next(), work);
  }
};

/// The counter `frames` is the depth that was captured on average: others than our policies count
/// their own frame, and frame pointers miss the outermost one, which the C library has none for.
template <class What, class Pattern, class Stack>
void measure(benchmark::State& state) {
  const auto wanted = static_cast<std::uint32_t>(state.range(0));
  const auto below = [&state, wanted](std::uint32_t) {
    ThreadState& thread = *ThreadStates::mine();
    std::uint64_t frames = 0;
    Pattern::run(state, wanted, [&] { frames += What::template capture<Stack>(thread); });
    state.counters["frames"] =
        benchmark::Counter(static_cast<double>(frames), benchmark::Counter::kAvgIterations);
  };
  AtDepth<decltype(below)>::run(Pattern::depth(wanted), below);
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
  add<Frames, BareFramePointerWalk>();
  add<Frames, BareUnwindBacktrace>();
  if (LibunwindBacktrace::load()) add<Frames, LibunwindBacktrace>();
  return true;
}();

}  // namespace
}  // namespace alloctap::bench
