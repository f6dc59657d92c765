/// A sampling policy with parameters set at run time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

/// Acts like `SizeRange` over `PoissonByBytes` or `EveryAllocation`, with parameters set at run
/// time, such as by command-line options. Records every allocation with its stack until `set` is
/// called. One setting per process.
class AdjustableSampling {
 public:
  struct Settings {
    /// The mean distance of samples in bytes; 0 and 1 mean that every allocation is recorded.
    std::uint64_t mean_bytes = 0;
    /// Stacks are captured only for blocks from `min_bytes` to `max_bytes`.
    std::uint64_t min_bytes = 0;
    std::uint64_t max_bytes = UINT64_MAX;
  };

  /// Sets the parameters. Control plane. No tracker with this policy may have a session; preferably
  /// no such tracker ever had a session. After a switch between sampling and recording everything,
  /// reports and frees ignore blocks recorded in the other mode. Samples are weighted by the mean
  /// at the time of the report.
  static void set(const Settings& settings) noexcept;

  static constexpr SamplingFeatures features{.countdown = true, .after_fork = true};

  static bool selects() noexcept {
    return !records_everything() || min_bytes_.load(std::memory_order_relaxed) > 0 ||
           max_bytes_.load(std::memory_order_relaxed) < UINT64_MAX;
  }

  static bool records_everything() noexcept { return mean_bytes() == 0; }

  static SampleDecision decide(ThreadState& thread, std::size_t size) noexcept {
    const std::uint64_t mean = mean_bytes();
    if (mean != 0 && !ThreadSampler<AdjustableSampling>::samples(thread, size, mean)) {
      return SampleDecision::kSkip;
    }
    const bool inside = size >= min_bytes_.load(std::memory_order_relaxed) &&
                        size <= max_bytes_.load(std::memory_order_relaxed);
    return inside ? SampleDecision::kWithStack : SampleDecision::kWithoutStack;
  }

  static std::uint64_t* countdown(ThreadState& thread) noexcept {
    return ThreadSampler<AdjustableSampling>::countdown(thread);
  }
  static void after_fork() noexcept { ThreadSampler<AdjustableSampling>::after_fork(); }

  static double weight(std::size_t size) noexcept {
    return records_everything() ? 1 : PoissonSampler::weight(size, mean_bytes());
  }

  static SamplingDescription description() noexcept;

 private:
  static std::uint64_t mean_bytes() noexcept { return mean_bytes_.load(std::memory_order_relaxed); }

  static inline constinit std::atomic<std::uint64_t> mean_bytes_{0};
  static inline constinit std::atomic<std::uint64_t> min_bytes_{0};
  static inline constinit std::atomic<std::uint64_t> max_bytes_{UINT64_MAX};
};

static_assert(SamplingPolicy<AdjustableSampling>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/sample/impl/adjustable_sampling.hpp"
#endif
