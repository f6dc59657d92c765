/// Names benchmarks of capturing a stack.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <string_view>

#include "bench/capture_patterns.hpp"

namespace alloctap::bench {

/// The counter `frames` is the depth that was captured on average: others than our policies count
/// their own frame, and frame pointers miss the outermost one, which the C library has none for.
template <class What, class Pattern, class Stack>
void measure_capture(benchmark::State& state) {
  const auto wanted = static_cast<std::uint32_t>(state.range(0));
  const std::uint64_t frames = capture_in<What, Pattern, Stack>(state, wanted);
  state.counters["frames"] =
      benchmark::Counter(static_cast<double>(frames), benchmark::Counter::kAvgIterations);
}

/// Adds WHAT/PATTERN/`who`/FRAMES.
template <class What, class Pattern, class Stack>
void add_captures(std::string_view who) {
  const std::string name = std::string(What::name) + "/" + Pattern::name + "/" + std::string(who);
  auto* added = benchmark::RegisterBenchmark(name.c_str(), &measure_capture<What, Pattern, Stack>);
  for (const int frames : {8, 16, 32, 64, 256}) added->Arg(frames);
}

}  // namespace alloctap::bench
