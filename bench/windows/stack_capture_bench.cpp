// Capturing a stack on Windows: by our policies, and by the walks that Windows has itself.
//
// The names are those of ../stack_capture_bench.cpp, and as far as ../capture_cost.py needs them so
// are the options and the output of google-benchmark, which Debian does not have for Windows. First
// all ways have to find the same frames at each depth; else nothing is measured.
//
// usage: stack_capture_bench [--benchmark_filter=REGEX] [--benchmark_min_time=SECONDS]
//                            [--benchmark_format=json]
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "bench/capture_patterns.hpp"
#include "bench/rule_walk.hpp"
#include "bench/stack_policies.hpp"
#include "bench/windows/options.hpp"
#include "bench/windows/peer_stacks.hpp"
#include "bench/windows/same_frames.hpp"
#include "bench/windows/timed_loop.hpp"

namespace alloctap::bench {
namespace {

constexpr std::uint32_t kDepths[] = {8, 16, 32, 64, 128, 256};

/// FramePointerStack is none: a frame pointer points anywhere into its frame there.
using Policies = StackList<NoStack, UnwindTableStack, BacktraceStack>;
using WholeWalks =
    StackList<UnwindTableStack, RuleWalk, RtlUnwindLoop, RtlBackTrace, BacktraceStack>;

struct Measured {
  double nanoseconds;
  double frames;
};

struct Case {
  std::string name;
  std::function<Measured(double seconds)> measure;
};

template <class What, class Pattern, class Stack>
void add(std::vector<Case>& cases) {
  for (const std::uint32_t depth : kDepths) {
    const auto measure = [depth](double seconds) -> Measured {
      TimedLoop loop(seconds);
      const auto frames = static_cast<double>(capture_in<What, Pattern, Stack>(loop, depth));
      return {loop.median_nanoseconds(), frames / static_cast<double>(loop.turns())};
    };
    const std::string who(Stack::name);
    const std::string name = std::string(What::name) + "/" + Pattern::name + "/" + who;
    cases.push_back({name + "/" + std::to_string(depth), measure});
  }
}

template <class What, class Stacks>
void add_all(std::vector<Case>& cases) {
  Stacks::for_each([&]<class Stack> { add<What, Steady, Stack>(cases); });
  Stacks::for_each([&]<class Stack> { add<What, Varying, Stack>(cases); });
}

bool all_find_the_same() {
  std::vector<FrameWriter> writers;
  WholeWalks::for_each(
      [&]<class Stack> { writers.push_back({Stack::name, &Frames::capture<Stack>}); });
  bool same = true;
  for (const std::uint32_t depth : kDepths) same = SameFrames::check(writers, depth) && same;
  return same;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_all<Identify, Policies>(cases);
  add<Frames, Steady, NoStack>(cases);
  add<Frames, Varying, NoStack>(cases);
  add_all<Frames, WholeWalks>(cases);
  return cases;
}

void run(const Options& options) {
  const char* separator = "\n";
  std::printf("{\"benchmarks\": [");
  for (const Case& one : all_cases()) {
    if (!std::regex_search(one.name, options.filter)) continue;
    const Measured measured = one.measure(options.seconds);
    std::printf("%s{\"name\": \"%s\", \"real_time\": %.3f, \"frames\": %.3f}", separator,
                one.name.c_str(), measured.nanoseconds, measured.frames);
    separator = ",\n";
  }
  std::printf("\n]}\n");
}

}  // namespace
}  // namespace alloctap::bench

int main(int count, char** arguments) {
  using namespace alloctap::bench;
  const auto options = Options::read({arguments + 1, arguments + count});
  if (!options) return 2;
  if (!all_find_the_same()) return EXIT_FAILURE;
  run(*options);
}
