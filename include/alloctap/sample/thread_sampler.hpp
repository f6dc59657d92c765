/// The sampler of each thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/guard/per_thread.hpp"
#include "alloctap/sample/poisson_sampler.hpp"

namespace alloctap {

/// One `PoissonSampler` per thread and `Policy`. The seed is the address of the sampler, which
/// differs from run to run where the system randomizes addresses, and the number of samplers made
/// so far.
template <class Policy>
class ThreadSampler : public PoissonSampler {
 public:
  ThreadSampler() noexcept : PoissonSampler(next_seed() ^ reinterpret_cast<std::uintptr_t>(this)) {}

  /// As `PoissonSampler::samples`; false where the system has no memory for a sampler. Runs inside
  /// malloc on the thread that owns `thread`.
  [[nodiscard]] static bool samples(ThreadState& thread, std::size_t size,
                                    std::uint64_t mean_bytes) noexcept {
    auto* sampler = PerThread<ThreadSampler>::of(thread);
    return sampler != nullptr && sampler->PoissonSampler::samples(size, mean_bytes);
  }

  /// Restarts every thread's. No thread may sample meanwhile.
  static void restart_all() noexcept {
    PerThread<ThreadSampler>::for_each([](ThreadSampler& sampler) { sampler.restart(); });
  }

 private:
  static std::uint64_t next_seed() noexcept {
    return made_.fetch_add(0xD1342543DE82EF95, std::memory_order_relaxed);
  }

  static inline constinit std::atomic<std::uint64_t> made_{0};
};

}  // namespace alloctap
