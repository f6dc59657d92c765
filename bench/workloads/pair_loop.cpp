// Pairs of malloc and free below a stack of a given depth, for whatever is preloaded.
//
// usage: pair_loop DEPTH THREADS PAIRS steady|varying
//   steady   all pairs of a thread come from one stack
//   varying  the program returns and calls again between two pairs; DEPTH is the mean
// Prints the CPU time of the process and the elapsed time per pair, without start and end.
#include <time.h>
#include <unwind.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/call_paths.hpp"

namespace {

using alloctap::bench::CallPath;
using alloctap::bench::CallPaths;

constexpr std::size_t kBlockBytes = 64;

std::atomic<unsigned> ready{0};
std::atomic<unsigned> finished{0};
std::atomic<bool> may_begin{false};
std::atomic<bool> may_end{false};

double seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::uint32_t frames_here() {
  std::uint32_t count = 0;
  ::_Unwind_Backtrace(
      [](_Unwind_Context*, void* counter) {
        ++*static_cast<std::uint32_t*>(counter);
        return _URC_NO_REASON;
      },
      &count);
  return count;
}

[[gnu::noinline]] void pair() {
  void* block = std::malloc(kBlockBytes);
  asm volatile("" : "+r"(block) : : "memory");
  std::free(block);
}

void count_up(std::atomic<unsigned>& counter) {
  counter.fetch_add(1);
  counter.notify_all();
}

struct Loop {
  std::uint32_t depth;
  std::uint64_t pairs;
  bool varying;

  void run() const {
    if (varying) {
      descend(CallPaths(depth).base_depth());
    } else {
      descend(depth);
    }
  }

 private:
  /// The barrier after the calls keeps them from becoming jumps.
  [[gnu::noinline]] void descend(std::uint32_t wanted) const {
    if (frames_here() < wanted) {
      descend(wanted);
    } else {
      start_together();
    }
    asm volatile("" : : : "memory");
  }

  /// Threads stay until the clocks are read, so that their end is not measured.
  void start_together() const {
    warm_up();
    count_up(ready);
    may_begin.wait(false);
    make_pairs(pairs);
    count_up(finished);
    may_end.wait(false);
  }

  void warm_up() const { make_pairs(CallPaths::kCount * 4); }

  void make_pairs(std::uint64_t count) const {
    CallPaths paths(depth);
    auto work = [] { pair(); };
    for (std::uint64_t i = 0; i < count; ++i) {
      const CallPath path = paths.next();
      if (varying) {
        alloctap::bench::follow<0>(path, work);
      } else {
        pair();
      }
    }
  }
};

void await(const std::atomic<unsigned>& counter, unsigned wanted) {
  for (unsigned now = counter.load(); now < wanted; now = counter.load()) counter.wait(now);
}

void raise_flag(std::atomic<bool>& flag) {
  flag.store(true);
  flag.notify_all();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string pattern = count == 5 ? arguments[4] : "";
  if (pattern != "steady" && pattern != "varying") {
    std::fputs("usage: pair_loop DEPTH THREADS PAIRS steady|varying\n", stderr);
    return 2;
  }
  const auto thread_count = static_cast<unsigned>(std::stoul(arguments[2]));
  const std::uint64_t pairs = std::stoull(arguments[3]) / thread_count;
  const Loop loop{static_cast<std::uint32_t>(std::stoul(arguments[1])), pairs,
                  pattern == "varying"};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) threads.emplace_back([&loop] { loop.run(); });
  await(ready, thread_count);
  const double cpu_before = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double wall_before = seconds(CLOCK_MONOTONIC);
  raise_flag(may_begin);
  await(finished, thread_count);
  const double wall = seconds(CLOCK_MONOTONIC) - wall_before;
  const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
  raise_flag(may_end);
  for (std::thread& thread : threads) thread.join();
  const double all = static_cast<double>(pairs) * thread_count;
  std::printf("{\"pairs\": %.0f, \"cpu_ns\": %.3f, \"wall_ns\": %.3f}\n", all, 1e9 * cpu / all,
              1e9 * wall / all);
}
