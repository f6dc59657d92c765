/// A Poisson process over the bytes that one thread allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/sample/elementary_functions.hpp"

namespace alloctap {

/// Points lie on the line of allocated bytes at exponentially distributed distances; the allocation
/// that a point falls into is sampled. So one of `s` bytes is sampled with the probability
/// 1 - exp(-s / mean), independently of all others, whatever the order of sizes. This is the way of
/// tcmalloc (sampler.cc) and Chromium (poisson_allocation_sampler.cc). Not thread-safe.
class PoissonSampler {
 public:
  /// Equal seeds give equal samples.
  explicit PoissonSampler(std::uint64_t seed) noexcept : state_(seed) {}

  /// Whether the next `size` bytes hold a point. An empty allocation counts as one byte, so that
  /// its like are seen at all. `mean_bytes` is positive, and the same until `restart`.
  [[nodiscard]] bool samples(std::size_t size, std::uint64_t mean_bytes) noexcept {
    const std::size_t bytes = size + static_cast<std::size_t>(size == 0);
    if (bytes <= bytes_before_point_) [[likely]] {
      bytes_before_point_ -= bytes;
      return false;
    }
    return reach_point(bytes, mean_bytes);
  }

  /// How many bytes lie before the next point; 0 where it was not drawn. An allocation of so many,
  /// or fewer, but not of none, holds no point, and may be taken off instead of asking `samples`.
  [[nodiscard]] std::uint64_t& countdown() noexcept { return bytes_before_point_; }

  /// Forgets where the next point lies: from now on `mean_bytes` may be another one.
  void restart() noexcept {
    bytes_before_point_ = 0;
    knows_point_ = false;
  }

  /// For a copy that must go another way than its origin: `entropy` differs from copy to copy.
  void reseed(std::uint64_t entropy) noexcept {
    state_ ^= entropy;
    restart();
  }

  /// How many allocations of `size` bytes one sample stands for.
  [[nodiscard]] static constexpr double weight(std::size_t size,
                                               std::uint64_t mean_bytes) noexcept {
    const std::size_t bytes = size + static_cast<std::size_t>(size == 0);
    return 1 / one_minus_exp(static_cast<double>(bytes) / static_cast<double>(mean_bytes));
  }

 private:
  /// What lies behind the point is as any other stretch of the line, so the rest of this allocation
  /// needs no look: the process has no memory.
  ALLOCTAP_NOINLINE bool reach_point(std::size_t bytes, std::uint64_t mean_bytes) noexcept {
    const bool knew_point = knows_point_;
    bytes_before_point_ = draw_distance(mean_bytes) - 1;
    knows_point_ = true;
    return knew_point || samples(bytes, mean_bytes);
  }

  /// Rounded up: a whole distance is above `s` exactly when the real one is.
  std::uint64_t draw_distance(std::uint64_t mean_bytes) noexcept {
    const double distance = -natural_log(draw_uniform()) * static_cast<double>(mean_bytes);
    constexpr double kFarthest = 0x1p63;
    if (distance >= kFarthest) return std::uint64_t{1} << 63;
    return static_cast<std::uint64_t>(distance) + 1;
  }

  /// In (0, 1], by SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
  /// generators", 2014.
  double draw_uniform() noexcept {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
    return static_cast<double>((mixed >> 11) + 1) * 0x1p-53;
  }

  std::uint64_t state_;
  std::uint64_t bytes_before_point_ = 0;
  bool knows_point_ = false;
};

}  // namespace alloctap
