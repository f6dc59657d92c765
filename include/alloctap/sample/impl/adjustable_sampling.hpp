/// Definitions for sample/adjustable_sampling.hpp.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/sample/adjustable_sampling.hpp"

namespace alloctap {

ALLOCTAP_INLINE void AdjustableSampling::set(const Settings& settings) noexcept {
  mean_bytes_.store(settings.mean_bytes > 1 ? settings.mean_bytes : 0, std::memory_order_relaxed);
  min_bytes_.store(settings.min_bytes, std::memory_order_relaxed);
  max_bytes_.store(settings.max_bytes, std::memory_order_relaxed);
  ThreadSampler<AdjustableSampling>::restart_all();
}

ALLOCTAP_INLINE SamplingDescription AdjustableSampling::description() noexcept {
  return {.name = records_everything() ? "every-allocation" : "poisson-by-bytes",
          .mean_bytes = mean_bytes(),
          .min_bytes = min_bytes_.load(std::memory_order_relaxed),
          .max_bytes = max_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace alloctap
