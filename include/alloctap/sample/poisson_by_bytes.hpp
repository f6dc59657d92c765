/// A policy that samples at random, in proportion to allocated bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/sample/thread_sampler.hpp"

namespace alloctap {

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
