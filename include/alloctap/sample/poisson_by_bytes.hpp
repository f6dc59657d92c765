/// A policy that samples at random, in proportion to allocated bytes, and its per-thread samplers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/clock.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/sample/poisson_sampler.hpp"
#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

/// One `PoissonSampler` per thread and `Policy`. Seeds differ between threads and between
/// processes, even without ASLR (in a debugger or an emulator), because processes with equal
/// samples would share their sampling error.
template <class Policy>
class ThreadSampler : public PoissonSampler {
 public:
  ThreadSampler() noexcept
      : PoissonSampler(thread_entropy() ^ run_entropy() ^ reinterpret_cast<std::uintptr_t>(this)) {}

  /// Like `PoissonSampler::samples`, but returns false if the sampler cannot be allocated. Runs
  /// inside malloc on the thread that owns `thread`.
  [[nodiscard]] static bool samples(ThreadState& thread, std::size_t size,
                                    std::uint64_t mean_bytes) noexcept {
    auto* sampler = PerThread<ThreadSampler>::of(thread);
    return sampler != nullptr && sampler->PoissonSampler::samples(size, mean_bytes);
  }

  /// Like `PoissonSampler::countdown`; returns nullptr if the sampler cannot be allocated.
  [[nodiscard]] static std::uint64_t* countdown(ThreadState& thread) noexcept {
    auto* sampler = PerThread<ThreadSampler>::of(thread);
    return sampler == nullptr ? nullptr : &sampler->PoissonSampler::countdown();
  }

  /// Restarts the samplers of all threads. No thread may sample meanwhile.
  static void restart_all() noexcept {
    PerThread<ThreadSampler>::for_each([](ThreadSampler& sampler) { sampler.restart(); });
  }

  /// Reseeds all samplers in the child of a fork, so that children choose different samples.
  /// Acquires the lock of the thread list.
  static void after_fork() noexcept {
    const std::uint64_t entropy = run_entropy();
    PerThread<ThreadSampler>::for_each([=](ThreadSampler& sampler) { sampler.reseed(entropy); });
  }

 private:
  static constexpr std::uint64_t kOddConstant = 0xD1342543DE82EF95;

  static std::uint64_t thread_entropy() noexcept {
    return made_.fetch_add(kOddConstant, std::memory_order_relaxed);
  }

  static std::uint64_t run_entropy() noexcept {
    const bool may_ask = !os::threads_are_confined.load(std::memory_order_relaxed);
    const os::ProcessId process = may_ask ? os::current_process_id() : 0;
    return static_cast<std::uint64_t>(process) * kOddConstant ^
           static_cast<std::uint64_t>(os::monotonic_ns());
  }

  static inline constinit std::atomic<std::uint64_t> made_{0};
};

/// Samples about one allocation per `mean_bytes` allocated bytes and captures its stack; larger
/// blocks are almost always sampled. Estimates in reports are unbiased, with a confidence interval;
/// calls are counted exactly. Choose it if capturing all stacks is too expensive: a decision costs
/// a subtraction and a branch. Runs inside malloc.
template <std::uint64_t mean_bytes>
struct PoissonByBytes {
  static_assert(mean_bytes > 1, "a mean of one byte samples everything: say EveryAllocation");

  static constexpr SamplingFeatures features{.countdown = true, .after_fork = true};

  static constexpr bool selects() noexcept { return true; }
  static constexpr bool records_everything() noexcept { return false; }
  static SampleDecision decide(ThreadState& thread, std::size_t size) noexcept {
    return ThreadSampler<PoissonByBytes>::samples(thread, size, mean_bytes)
               ? SampleDecision::kWithStack
               : SampleDecision::kSkip;
  }
  static std::uint64_t* countdown(ThreadState& thread) noexcept {
    return ThreadSampler<PoissonByBytes>::countdown(thread);
  }
  static void after_fork() noexcept { ThreadSampler<PoissonByBytes>::after_fork(); }
  static constexpr double weight(std::size_t size) noexcept {
    return PoissonSampler::weight(size, mean_bytes);
  }
  static constexpr SamplingDescription description() noexcept {
    return {.name = "poisson-by-bytes", .mean_bytes = mean_bytes};
  }
};

static_assert(SamplingPolicy<PoissonByBytes<512 * 1024>>);

}  // namespace alloctap
