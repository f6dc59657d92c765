// Capturing a stack: by each policy, and by other unwinders. Built with frame pointers
// (CMakeLists.txt), which two of them need.
//
// WHAT/PATTERN/WHO/FRAMES, where WHAT is `frames` (write them all) or `identify` (as a tracker
// does for an allocation: know their hash), and PATTERN is `steady` (all captures of a loop come
// from one stack) or `varying` (the program returns and calls again between two captures, up to 16
// levels; FRAMES is the mean). The time of the calls themselves is in that of `none`.
#include <benchmark/benchmark.h>

#include "bench/capture_benchmarks.hpp"
#include "bench/capture_patterns.hpp"
#include "bench/peer_stacks.hpp"
#include "bench/rule_walk.hpp"
#include "bench/stack_policies.hpp"

namespace alloctap::bench {
namespace {

template <class What, class Stack>
void add() {
  add_captures<What, Steady, Stack>(Stack::name);
  add_captures<What, Varying, Stack>(Stack::name);
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
